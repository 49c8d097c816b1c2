import { countingIds, type DraftRecord, sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { createServer } from '@millrace/server';
import { recordedRun } from '../../../../../packages/server/src/testing/recorded-run.ts';
import { builtPage } from './built-page.ts';

/** A server in this process with one session that has many records. */
export class LongSessionServer {
  readonly url: string;
  /** The number of records of the session. */
  readonly records: number;
  readonly #close: () => Promise<void>;

  private constructor(url: string, records: number, close: () => Promise<void>) {
    this.url = url;
    this.records = records;
    this.#close = close;
  }

  /** The id of the session. */
  static readonly session = 'long';

  /** Starts a server whose session has at least this many records, in runs of four turns. */
  static async start(minRecords: number): Promise<LongSessionServer> {
    const log = memoryLog();
    const driver = await log.open(sessionId(LongSessionServer.session));
    const ids = countingIds();
    let count = 0;
    for (let run = 0; count < minRecords; run++) {
      const options = { firstTurn: 4 * run + 1, name: `run-${run}` };
      const records: readonly DraftRecord[] = recordedRun(4, ids, options).flat();
      await driver.append(records);
      count += records.length;
    }
    await driver.release();
    const server = createServer({ tokens: 'none', agents: [], log, page: builtPage() });
    const { url } = await server.listen({ port: 0 });
    return new LongSessionServer(url, count, async () => {
      await server.close();
      await log.close();
    });
  }

  close(): Promise<void> {
    return this.#close();
  }
}
