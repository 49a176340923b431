//! What the pass and the finish look up by label: inverse propensities of all models side by side, their variances, weights and
//! groups.
//!
//! The inverse propensities of one label lie in one piece, padded to blocks of [`BLOCK`](crate::evaluate::tally::fixed::BLOCK), so that a hit costs a cache line or
//! two, whatever the number of propensity models. Column 0 is the observed value, with an inverse propensity of 1.

/// The group of labels that are in none.
pub(in crate::evaluate) const NO_GROUP: u16 = u16::MAX;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::evaluate) struct Table {
    /// Columns with padding; a multiple of the size of a block.
    pub(in crate::evaluate) width: usize,
    /// The labels that the table has, ascending; `None` when places are labels or there is an index.
    pub(in crate::evaluate) ids: Option<Vec<u32>>,
    /// The place of each label that is looked up; several labels may have the same. Only labels that are positive somewhere are,
    /// unless clipping or shown pairs ask for others too. Empty when there is none. Never written.
    pub(in crate::evaluate) index: Vec<u32>,
    /// Whether inverse propensities, and their products with weights, descend from place to place in every column: then the best
    /// ranking of a row is in the order of places, whatever the propensity model. Never written.
    pub(in crate::evaluate) ordered: bool,
    /// Whether all labels have the inverse propensities of the one entry: there are neither propensities nor weights.
    pub(in crate::evaluate) shared: bool,
    /// Where the first label's columns are, so that each label's lie on as few cache lines as they can.
    pub(in crate::evaluate) shift: usize,
    /// Inverse propensities by place, column last.
    pub(in crate::evaluate) inverse: Vec<f64>,
    /// Variances of the inverse propensities in the same layout; empty when no propensities carry any.
    pub(in crate::evaluate) variance: Vec<f64>,
    /// Errors that labels have in common, of all columns, by place; empty when there are none.
    pub(in crate::evaluate) errors: Vec<f64>,
    /// How many of them a place has.
    pub(in crate::evaluate) error_width: usize,
    /// The column that holds the label's weight, when there are weights: so it comes with the same cache line.
    pub(in crate::evaluate) weight_column: Option<usize>,
    /// Groups by place; empty without groups.
    pub(in crate::evaluate) group: Vec<u16>,
}

impl Table {
    /// Where a label's values are. Labels that a partial table lacks never occurred.
    #[inline(always)]
    pub(in crate::evaluate) fn place(&self, label: u32) -> usize {
        if !self.index.is_empty() {
            return self.index[label as usize] as usize;
        }
        match &self.ids {
            None => label as usize,
            Some(ids) => ids.binary_search(&label).unwrap_or(0),
        }
    }

    /// Where the columns of a place start.
    #[inline(always)]
    pub(in crate::evaluate) fn base(&self, place: usize) -> usize {
        if self.shared { 0 } else { self.shift + place * self.width }
    }

    /// The inverse propensities of a place.
    #[inline(always)]
    pub(in crate::evaluate) fn inverse_at(&self, place: usize) -> &[f64] {
        let base = self.base(place);
        &self.inverse[base..base + self.width]
    }

    /// The variance of an inverse propensity; 0 when it is taken as known.
    pub(in crate::evaluate) fn variance(&self, place: usize, column: usize) -> f64 {
        if self.variance.is_empty() { 0.0 } else { self.variance[place * self.width + column] }
    }

    /// The common errors of a place, of all columns.
    pub(in crate::evaluate) fn errors(&self, place: usize) -> &[f64] {
        &self.errors[place * self.error_width..(place + 1) * self.error_width]
    }

    /// The weight of a place; 1 without weights.
    pub(in crate::evaluate) fn weight(&self, place: usize) -> f64 {
        self.weight_column.map_or(1.0, |column| self.inverse_at(place)[column])
    }

    /// The group of a place.
    #[inline(always)]
    pub(in crate::evaluate) fn group(&self, place: usize) -> u16 {
        if self.group.is_empty() { NO_GROUP } else { self.group[place] }
    }

    /// The same table for the given labels alone (ascending).
    pub(in crate::evaluate) fn restricted(&self, labels: &[u32]) -> Table {
        if self.ids.as_deref() == Some(labels) {
            return self.clone();
        }
        let places: Vec<usize> = labels.iter().map(|label| self.place(*label)).collect();
        let wide = |values: &[f64]| -> Vec<f64> {
            if values.is_empty() {
                return Vec::new();
            }
            places.iter().flat_map(|place| values[place * self.width..(place + 1) * self.width].iter().copied()).collect()
        };
        Table {
            errors: places.iter().flat_map(|place| self.errors(*place).iter().copied()).collect(),
            error_width: self.error_width,
            width: self.width,
            ids: Some(labels.to_vec()),
            shared: self.shared,
            ordered: false,
            index: Vec::new(),
            shift: 0,
            inverse: if self.shared { self.inverse.clone() } else { wide(&self.inverse[self.shift..]) },
            variance: wide(&self.variance),
            weight_column: self.weight_column,
            group: if self.group.is_empty() { Vec::new() } else { places.iter().map(|place| self.group[*place]).collect() },
        }
    }

    /// Whether both tables say the same about a label that both have, given its places.
    fn agrees_at(&self, other: &Table, a: usize, b: usize) -> bool {
        self.inverse_at(a) == other.inverse_at(b)
            && self.group(a) == other.group(b)
            && self.errors(a) == other.errors(b)
            && self.variances_at(a) == other.variances_at(b)
    }

    /// The variances of a place; empty when there are none.
    fn variances_at(&self, place: usize) -> &[f64] {
        if self.variance.is_empty() { &[] } else { &self.variance[place * self.width..(place + 1) * self.width] }
    }

    fn has_columns_of(&self, other: &Table) -> bool {
        self.width == other.width && self.error_width == other.error_width
    }

    /// The first label of a partial table about which this one, which has all labels, says something else.
    pub(in crate::evaluate) fn differs_from(&self, part: &Table) -> Option<u32> {
        let mut ids = part.ids.iter().flatten().enumerate();
        let fits = self.has_columns_of(part);
        ids.find(|(place, label)| !fits || !self.agrees_at(part, self.place(**label), *place)).map(|(_, label)| *label)
    }

    /// The labels of both tables, which must agree where both have a label: `Err` has a label where they do not.
    pub(in crate::evaluate) fn union(self, other: &Table) -> Result<Table, u32> {
        let (Some(a), Some(b)) = (&self.ids, &other.ids) else { return Ok(self) };
        let fits = self.has_columns_of(other);
        let is_different = |label: u32, i: usize, j: usize| (!fits || !self.agrees_at(other, i, j)).then_some(label);
        if a == b {
            // Parts of many rows mostly have the same labels.
            return match a.iter().enumerate().find_map(|(place, label)| is_different(*label, place, place)) {
                Some(label) => Err(label),
                None => Ok(self),
            };
        }
        let most = a.len() + b.len();
        let mut out = Table {
            width: self.width,
            shared: self.shared,
            weight_column: self.weight_column,
            error_width: self.error_width,
            inverse: if self.shared { self.inverse.clone() } else { Vec::with_capacity(most * self.width) },
            ..Table::default()
        };
        let mut labels = Vec::with_capacity(most);
        let (mut i, mut j) = (0, 0);
        while i < a.len() || j < b.len() {
            let of_a = j == b.len() || (i < a.len() && a[i] <= b[j]);
            let is_both = of_a && j < b.len() && a[i] == b[j];
            if is_both && let Some(label) = is_different(a[i], i, j) {
                return Err(label);
            }
            let (from, place, label) = if of_a { (&self, i, a[i]) } else { (other, j, b[j]) };
            labels.push(label);
            if !self.shared {
                out.inverse.extend_from_slice(from.inverse_at(place));
            }
            out.variance.extend_from_slice(from.variances_at(place));
            out.errors.extend_from_slice(from.errors(place));
            if !from.group.is_empty() {
                out.group.push(from.group[place]);
            }
            i += usize::from(of_a);
            j += usize::from(!of_a || is_both);
        }
        out.ids = Some(labels);
        Ok(out)
    }
}
