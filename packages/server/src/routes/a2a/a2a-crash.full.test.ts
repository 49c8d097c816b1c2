import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, test } from 'vitest';
import { startProcess } from '../../../../log/src/testing/start-process.ts';
import { sqliteRows } from '../../rows/sqlite/sqlite-rows.ts';
import { A2aTranscript, a2aClient, sent, transcriptOf } from '../../testing/a2a/a2a-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { temporaryFolder } from '../../testing/servers/task-harness.ts';

test.each(['keep', 'retry'] as const)(
  '24.5: after kill -9 of the server, the task continues in the next process (%s)',
  async (onInterrupted) => {
    const folder = temporaryFolder();
    const program = new URL('../../testing/servers/ag-ui-server.ts', import.meta.url);
    const listening = Promise.withResolvers<string>();
    const child = startProcess(program, {
      args: [folder, onInterrupted],
      onMessage: (value) => listening.resolve((value as { readonly url: string }).url),
    });
    const client = await a2aClient(await listening.promise);
    const live = new A2aTranscript();
    const read = async () => {
      for await (const event of client.sendMessageStream(sent('Count'))) {
        live.add(event);
        if ((live.texts[0] ?? '').length > 40) child.kill('SIGKILL');
      }
    };
    await expect(read()).rejects.toThrow();
    expect((await child.exit).signal).toBe('SIGKILL');
    const { url } = await serveOpenAi(['Back again.'], {
      agent: { onInterrupted },
      log: sqliteLog({ path: join(folder, 'log.db') }),
      server: { rows: sqliteRows({ path: join(folder, 'rows.db') }) },
    });
    const next = await a2aClient(url);
    const { id } = live;
    await live.read(next.resubscribeTask({ tenant: '', id })).catch((error: unknown) => {
      // The task can end before the subscription.
      expect(String(error)).toContain('has ended');
    });
    const stored = transcriptOf(await next.getTask({ tenant: '', id }));
    const isKept = onInterrupted === 'keep';
    expect(stored.state).toBe(isKept ? 'TASK_STATE_FAILED' : 'TASK_STATE_COMPLETED');
    if (isKept) expect(stored.texts[0]).toMatch(/^word1 word2 /);
    else expect(stored.texts).toEqual(['Back again.']);
  },
);
