//! What runs when and where; one run as a state machine.
