import { memoryLog } from '@millrace/log';
import { describe } from 'vitest';
import { testDurableStreams } from '../../testing/servers/durable-streams.ts';

// 332 of the 338 tests run and pass. The suite runs the other 6 only on request. They test webhooks and leases
// of workers, which this server does not have.
describe('24.6: the conformance tests of Durable Streams pass with a log in memory', () => {
  testDurableStreams(memoryLog());
});
