/* placeholder until the first file of core lands */
int core_placeholder(void);
int core_placeholder(void) { return 0; }
