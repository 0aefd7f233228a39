"""What every benchmark needs: processes, a private PostgreSQL, CPU accounting, results and their picture."""
