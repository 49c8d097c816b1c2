import { join } from 'node:path';
import { sqliteLog } from '@millrace/log/sqlite';
import { expect, test } from 'vitest';
import { startProcess } from '../../../../log/src/testing/start-process.ts';
import { sqliteRows } from '../../rows/sqlite/sqlite-rows.ts';
import { agUiClient, runAgUi, say, shownOf } from '../../testing/ag-ui/ag-ui-client.ts';
import { serveOpenAi } from '../../testing/openai-client.ts';
import { temporaryFolder } from '../../testing/servers/task-harness.ts';

test.each(['keep', 'retry'] as const)(
  '24.2: after kill -9 of the server, the same run id gives the messages of the log (%s)',
  async (onInterrupted) => {
    const folder = temporaryFolder();
    const program = new URL('../../testing/servers/ag-ui-server.ts', import.meta.url);
    const listening = Promise.withResolvers<string>();
    const child = startProcess(program, {
      args: [folder, onInterrupted],
      onMessage: (value) => listening.resolve((value as { readonly url: string }).url),
    });
    const agent = agUiClient(await listening.promise);
    say(agent, 'Count');
    let pieces = 0;
    agent.subscribe({
      onTextMessageContentEvent: () => {
        pieces++;
        if (pieces === 5) child.kill('SIGKILL');
      },
    });
    const { error } = await runAgUi(agent, { runId: 'r1' });
    expect([error, (await child.exit).signal]).toEqual([expect.any(Error), 'SIGKILL']);
    const partial = shownOf(agent.messages).at(-1) ?? '';
    expect(partial).toMatch(/^assistant: word1 word2/);
    const { url } = await serveOpenAi(['Back again.'], {
      agent: { onInterrupted },
      log: sqliteLog({ path: join(folder, 'log.db') }),
      server: { rows: sqliteRows({ path: join(folder, 'rows.db') }) },
    });
    agent.url = `${url}/agents/name/helper/ag-ui`;
    const { events } = await runAgUi(agent, { runId: 'r1' });
    const last = onInterrupted === 'keep' ? 'RUN_ERROR' : 'RUN_FINISHED';
    expect(events.at(-1)?.type).toBe(last);
    const [asked, answered, ...more] = shownOf(agent.messages);
    expect([asked, more]).toEqual(['user: Count', []]);
    if (onInterrupted === 'retry') expect(answered).toBe('assistant: Back again.');
    else expect(answered?.startsWith(partial)).toBe(true);
    const reader = agUiClient(url);
    await runAgUi(reader);
    expect(reader.messages).toEqual(agent.messages);
  },
);
