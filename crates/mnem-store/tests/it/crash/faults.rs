//! Any call of the system may fail.
