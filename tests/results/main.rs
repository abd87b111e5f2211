//! Tables, judgements of all contests, and the site.

mod answers;
mod compare_campaigns;
mod crv;
mod editions;
mod formats;
mod judge;
mod judge_input;
mod mcc_years;
mod pictures;
mod rate;
mod report;
mod report_certified;
mod scale;
mod site_places;
mod sources;
#[path = "../support/mod.rs"]
mod support;
mod svcomp;
mod svcomp_2013;
mod svcomp_categories;
mod tables;
mod years;
