//! The one pass over the rows: every row is looked at once, in parallel, and adds to the sums of every cell.
//!
//! [`run`] sends chunks of rows through [`chunk`], which selects the top k of each row once ([`select`]) and adds its terms:
//! [`row_terms`] sums and products over labels, [`sets`] other functions of the label set, [`hajek`] what was shown, [`mask`]
//! estimated mask variances.

pub(in crate::evaluate) mod chunk;
mod hajek;
mod mask;
mod row_terms;
mod run;
pub(in crate::evaluate) mod select;
mod sets;
