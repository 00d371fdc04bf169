//! Integration tests of the project.
