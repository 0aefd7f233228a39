\echo Use "alter extension howdah update" to load this file. \quit

-- Makes a database of 0.1.0 one of 0.2.0: each change of howdah/ has its statements here. together::upgrades compares both ways.
