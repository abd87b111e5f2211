//! Judging the Model Checking Contest (seed rules E-2 to E-4).
