//! What the pass and the finish look up by label: inverse propensities of all models side by side, their variances, weights and
//! groups.
//!
//! The inverse propensities of one label lie in one piece, padded to blocks of [`BLOCK`], so that a hit costs a cache line or
//! two, whatever the number of propensity models. Lane 0 is the observed value, with an inverse propensity of 1.

/// Lanes are handled in blocks of this size.
pub(super) const BLOCK: usize = 8;

/// The group of labels that are in none.
pub(super) const NO_GROUP: u16 = u16::MAX;

/// See the module's page.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Table {
    /// Lanes with padding; a multiple of [`BLOCK`].
    pub(super) width: usize,
    /// The labels that the table has, ascending; `None` when places are labels or there is an index.
    pub(super) ids: Option<Vec<u32>>,
    /// The place of each label that is looked up; several labels may have the same. Only labels that are positive somewhere are,
    /// unless clipping or shown pairs ask for others too. Empty when there is none. Never written.
    pub(super) index: Vec<u32>,
    /// Whether inverse propensities, and their products with weights, descend from place to place in every lane: then the best
    /// ranking of a row is in the order of places, whatever the propensity model. Never written.
    pub(super) ordered: bool,
    /// Whether all labels have the inverse propensities of the one entry: there are neither propensities nor weights.
    pub(super) shared: bool,
    /// Where the first label's lanes are, so that each label's lie on as few cache lines as they can.
    pub(super) shift: usize,
    /// Inverse propensities by place, lane last.
    pub(super) inverse: Vec<f64>,
    /// Variances of the inverse propensities in the same layout; empty when no propensities carry any.
    pub(super) variance: Vec<f64>,
    /// The lane that holds the label's weight, when there are weights: so it comes with the same cache line.
    pub(super) weight_lane: Option<usize>,
    /// Groups by place; empty without groups.
    pub(super) group: Vec<u16>,
}

impl Table {
    /// Where a label's values are. Labels that a partial table lacks never occurred.
    #[inline(always)]
    pub(super) fn place(&self, label: u32) -> usize {
        if !self.index.is_empty() {
            return self.index[label as usize] as usize;
        }
        match &self.ids {
            None => label as usize,
            Some(ids) => ids.binary_search(&label).unwrap_or(0),
        }
    }

    /// Where the lanes of a place start.
    #[inline(always)]
    pub(super) fn base(&self, place: usize) -> usize {
        if self.shared { 0 } else { self.shift + place * self.width }
    }

    /// The inverse propensities of a place.
    #[inline(always)]
    pub(super) fn lanes(&self, place: usize) -> &[f64] {
        let base = self.base(place);
        &self.inverse[base..base + self.width]
    }

    /// The variance of an inverse propensity; 0 when it is taken as known.
    pub(super) fn variance(&self, place: usize, lane: usize) -> f64 {
        if self.variance.is_empty() { 0.0 } else { self.variance[place * self.width + lane] }
    }

    /// The weight of a place; 1 without weights.
    pub(super) fn weight(&self, place: usize) -> f64 {
        self.weight_lane.map_or(1.0, |lane| self.lanes(place)[lane])
    }

    /// The group of a place.
    #[inline(always)]
    pub(super) fn group(&self, place: usize) -> u16 {
        if self.group.is_empty() { NO_GROUP } else { self.group[place] }
    }

    /// The same table for the given labels alone (ascending).
    pub(super) fn restricted(&self, labels: &[u32]) -> Table {
        let places: Vec<usize> = labels.iter().map(|label| self.place(*label)).collect();
        let wide = |values: &[f64]| -> Vec<f64> {
            if values.is_empty() {
                return Vec::new();
            }
            places.iter().flat_map(|place| values[place * self.width..(place + 1) * self.width].iter().copied()).collect()
        };
        Table {
            width: self.width,
            ids: Some(labels.to_vec()),
            shared: self.shared,
            ordered: false,
            index: Vec::new(),
            shift: 0,
            inverse: if self.shared { self.inverse.clone() } else { wide(&self.inverse[self.shift..]) },
            variance: wide(&self.variance),
            weight_lane: self.weight_lane,
            group: if self.group.is_empty() { Vec::new() } else { places.iter().map(|place| self.group[*place]).collect() },
        }
    }

    /// The labels of both tables, which must agree where both have a label: `Err` has a label where they do not.
    pub(super) fn union(&self, other: &Table) -> Result<Table, u32> {
        let (Some(a), Some(b)) = (&self.ids, &other.ids) else { return Ok(self.clone()) };
        let mut labels: Vec<u32> = a.iter().chain(b).copied().collect();
        labels.sort_unstable();
        let differs = |pair: &&[u32]| pair[0] == pair[1] && self.restricted(&pair[..1]) != other.restricted(&pair[..1]);
        if let Some(pair) = labels.windows(2).find(differs) {
            return Err(pair[0]);
        }
        labels.dedup();
        let mut out =
            Table { width: self.width, shared: self.shared, weight_lane: self.weight_lane, ids: Some(labels), ..Table::default() };
        if self.shared {
            out.inverse.clone_from(&self.inverse);
        }
        for label in out.ids.iter().flatten() {
            let from = if a.binary_search(label).is_ok() { self } else { other };
            let place = from.place(*label);
            if !self.shared {
                out.inverse.extend_from_slice(from.lanes(place));
            }
            if !from.variance.is_empty() {
                out.variance.extend_from_slice(&from.variance[place * from.width..(place + 1) * from.width]);
            }
            if !from.group.is_empty() {
                out.group.push(from.group[place]);
            }
        }
        Ok(out)
    }
}
