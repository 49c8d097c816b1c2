import { randomUUID } from 'node:crypto';
import { postgresLog } from '@millrace/log/postgres';
import { test } from 'vitest';
import { describeOnPostgres, usePostgres } from '../../../log/src/testing/start-postgres.ts';
import { expectConstantCosts } from '../testing/message-cost-law.ts';

const describe = describeOnPostgres();
const server = usePostgres();

describe('21.F law 18: the cost of a message on Postgres', () => {
  test('does not depend on the length of the session, in an old and in a new process', async () => {
    const schema = `s_${randomUUID().replaceAll('-', '')}`;
    const { url } = server();
    await expectConstantCosts(async () => postgresLog({ url, schema }));
  });
});
