/* Benchmark of booting: an application that does nothing. */
int main(void)
{
	return 0;
}
