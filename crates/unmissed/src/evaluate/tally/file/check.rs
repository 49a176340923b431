//! Checks that the parts of a tally match: the finish relies on it, and files may be damaged or forged.

use crate::error::{Error, Result};
use crate::evaluate::plan::settings::{Kind, Settings};
use crate::evaluate::tally::Tally;
use crate::evaluate::tally::exact_layout::ExactLayout;
use crate::evaluate::tally::labels::LabelTally;
use crate::evaluate::tally::layout::Layout;
use crate::evaluate::tally::open::MOST_NUMBERS;
use crate::evaluate::tally::row_sample::RowSample;
use crate::metrics::Shape;

pub(super) fn broken(what: &str) -> Error {
    Error::format(format!("the tally contradicts itself: {what}"))
}

impl Tally {
    pub(super) fn check(&self) -> Result<()> {
        check_settings(&self.settings)?;
        let terms = self.settings.terms()?;
        let columns = self.settings.columns.len();
        for term in &terms {
            let wanted = if matches!(term.kind, Kind::Set { .. }) { 1 } else { self.settings.ks().len() * columns };
            let is_possible = term.bounds.iter().all(|bound| (-300..=400).contains(bound));
            if !(term.bounds.is_empty() || term.bounds.len() == wanted) || !is_possible {
                return Err(broken("its bounds"));
            }
        }
        let exact = ExactLayout::new(&self.settings, &terms).map(|layout| layout.len());
        let bounded = Layout::new(&self.settings, terms.len()).checked_len();
        let totals = &self.totals;
        if bounded != Some(totals.bounded.len())
            || exact != Some(totals.exact.len())
            || totals.exact.iter().any(|sum| !sum.is_settled())
            || totals.rows.silent.len() != self.settings.models.len()
        {
            return Err(broken("its sums"));
        }
        self.check_labels()?;
        self.check_table()?;
        match &self.open {
            Some(open) if !open.cancelling.fits(&self.settings)? || !open.unseen.is_sorted() || self.rows() > MOST_NUMBERS => {
                Err(broken("its stream"))
            }
            _ => Ok(()),
        }
    }

    fn check_labels(&self) -> Result<()> {
        let ascend = |ids: &[u32]| {
            ids.windows(2).all(|pair| pair[0] < pair[1]) && ids.last().is_none_or(|id| u64::from(*id) < self.settings.labels)
        };
        let fits = |labels: &LabelTally| {
            let count = labels.ranks.len();
            ascend(&labels.ids)
                && labels.offsets.first() == Some(&0)
                && labels.offsets.is_sorted()
                && labels.offsets.len() == labels.ids.len() + 1
                && labels.offsets.last() == Some(&(count as u64))
                && [labels.predicted.len(), labels.hits.len()] == [count; 2]
                && labels.ranks.iter().all(|rank| (*rank as usize) < self.settings.depth)
        };
        if self.labels.len() != self.settings.models.len() || !self.labels.iter().all(fits) {
            return Err(broken("its counts"));
        }
        let settings = &self.settings;
        let rows = if self.open.is_some() { MOST_NUMBERS } else { settings.rows };
        let is_sound = self.entries.as_ref().is_none_or(|of| of.is_sound(settings.models.len(), settings.labels, rows));
        let is_sample = |sample: &RowSample| sample.is_sound(settings.models.len(), settings.labels, rows, settings.depth);
        if self.sample.as_ref().is_some_and(|sample| !is_sample(sample)) {
            return Err(broken("its sample of rows"));
        }
        if self.positives.counts.len() != self.positives.ids.len() || !ascend(&self.positives.ids) || !is_sound {
            return Err(broken("its positives"));
        }
        Ok(())
    }

    fn check_table(&self) -> Result<()> {
        let ids = self.table.ids.as_deref().unwrap_or_default();
        let rows = if self.table.shared { 1 } else { ids.len() };
        let variances = self.table.variance.len();
        let groups = if self.settings.groups.len() > 1 { ids.len() } else { 0 };
        if self.table.inverse.len() != rows * self.table.width
            || !(variances == 0 || variances == ids.len() * self.table.width)
            || Some(self.table.errors.len()) != ids.len().checked_mul(self.table.error_width)
            || self.table.group.len() != groups
        {
            return Err(broken("its table of labels"));
        }
        if ids != self.weighed() { Err(broken("its labels")) } else { Ok(()) }
    }
}

fn check_settings(settings: &Settings) -> Result<()> {
    settings.check_size()?;
    let names: Vec<String> = settings.metrics.iter().map(|chosen| chosen.name()).collect();
    let is_twice = |(place, name): (usize, &String)| names[..place].contains(name);
    let is_clipped = |clip: (usize, f64)| clip.0 > 0 && clip.0 < settings.columns.len();
    if settings.models.is_empty()
        || settings.groups.is_empty()
        || settings.columns.first().is_none_or(|column| column.origin.is_some())
        || settings.columns.iter().filter_map(|column| column.clip).any(|clip| !is_clipped(clip))
        || names.iter().enumerate().any(is_twice)
        || !(1..=settings.kmax()).contains(&settings.depth)
        || settings.rows > u64::from(u32::MAX)
        || settings.labels > u64::from(u32::MAX)
    {
        return Err(broken("its settings"));
    }
    for chosen in &settings.metrics {
        let has_beta = matches!(chosen.metric()?.shape(), Shape::Label(term) if term.has_beta());
        let in_range = chosen.beta > 0.0 && (has_beta || chosen.beta == 1.0);
        if !in_range {
            return Err(broken("its metrics"));
        }
    }
    if let Some(omega) = &settings.omega
        && !omega.is_sound(settings, settings.terms()?.len())
    {
        return Err(broken("its matched rows"));
    }
    for of in &settings.row_dependent {
        let (metrics, ks) = (settings.metrics.len(), settings.ks().len());
        let fits = of.fits.iter().flatten().all(|fit| {
            fit.dependence.len() == ks && fit.ratios.len() == metrics && fit.ratios.iter().all(|ratios| ratios.len() == ks)
        });
        if of.metrics.len() != metrics || of.fits.len() != settings.models.len() || !fits {
            return Err(broken("its row-dependent propensities"));
        }
    }
    Ok(())
}
