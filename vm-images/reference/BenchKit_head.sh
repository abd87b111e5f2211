#!/bin/bash
# The reference disk carries no tool: it takes part in nothing.
echo DO_NOT_COMPETE
