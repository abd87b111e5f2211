//! What this host offers: cores, memory, an accelerator that really boots.
