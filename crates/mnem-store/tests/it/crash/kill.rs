//! A process that repairs is killed.
