import { afterAll, beforeAll } from 'vitest';
import { hasPostgres, startPostgres, type TestPostgres } from './start-postgres.ts';

/** A Postgres for the tests of a file, while they run. Asked for where there is none, it says so. */
export function usePostgres(): () => TestPostgres {
  let server: TestPostgres | undefined;
  beforeAll(async () => {
    if (hasPostgres) server = await startPostgres();
  }, 120_000);
  afterAll(() => server?.remove());
  return () => {
    if (server === undefined) throw new Error('There is no Postgres for these tests');
    return server;
  };
}
