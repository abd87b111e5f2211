//! campaign.toml, the plan made of it, run ids.
