import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createWorkspace, writeTool } from '@millrace/tools';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { TestChat, toolCalls } from '../testing/test-chat.ts';

const folder = temporaryFolder('undo-scripts');

test('18.359: attack: /undo writes an earlier text of the model into the script of an MCP server', async () => {
  const cwd = mkdtempSync(join(folder(), 'files-'));
  const script = join(cwd, 's.mjs');
  const chat = new TestChat({
    ...{ cwd, executedFiles: [script] },
    tools: [writeTool(createWorkspace({ root: cwd }))],
    // The user has added the server after these two messages.
    approve: () => 'allow',
    script: [
      toolCalls(['c1', 'write', { path: 's.mjs', content: 'EVIL\n' }]),
      'Wrote one.',
      toolCalls(['c2', 'write', { path: 's.mjs', content: 'good\n' }]),
      'Wrote two.',
    ],
  });
  await chat.send('Write one');
  await chat.waitForText('Wrote one.');
  await chat.idle();
  await chat.send('Write two');
  await chat.waitForText('Wrote two.');
  await chat.idle();
  await chat.send('/undo');
  await chat.waitForText('Nothing was changed.');
  await chat.waitForText('Programs run it or use it as settings.');
  expect(existsSync(script) && readFileSync(script, 'utf8')).toBe('good\n');
});
