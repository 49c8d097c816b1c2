import { mkdirSync, mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { sessionId } from '@millrace/core';
import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { answer, turnFinished, turnStarted } from '../../../../packages/log/src/suite/drafts.ts';
import { resumeHint } from '../args/command-hint.ts';
import { exportCommand } from './commands/export-command.ts';
import { resumeNotice } from './session-notices.ts';

// The id of an imported session can be any printable text. The program prints commands that contain
// the id, and people paste these commands into a shell.

test.for([
  ['$(id)', "'$(id)'"],
  ['a;id', "'a;id'"],
  ["a'b", "'a'\\''b'"],
  ['-x', "'-x'"],
  ['~root', "'~root'"],
  ['0199aa', '0199aa'],
] as const)('attack 51: the id %s is printed as one word of a shell', ([id, quoted]) => {
  expect(resumeHint({}, id)).toBe(`millrace --resume${id.startsWith('-') ? '=' : ' '}${quoted}`);
  expect(JSON.stringify(resumeNotice(id, {}))).toContain(JSON.stringify(quoted).slice(1, -1));
});

test('attack 51: /export without a name writes only into the folder', async () => {
  const outer = realpathSync(mkdtempSync(join(tmpdir(), 'export-')));
  onTestFinished(() => rmSync(outer, { recursive: true }));
  const cwd = join(outer, 'work');
  mkdirSync(join(cwd, 'millrace-'), { recursive: true });
  const log = memoryLog();
  const session = sessionId('/../../a');
  const driver = await log.open(session);
  await driver.append([turnStarted(1), ...answer(1, ['a']), turnFinished(1)]);
  await driver.release();
  const context = { conversation: { session, transcript: [] }, log, cwd, print: () => {} };
  await exportCommand.run(context as never, '');
  expect(readdirSync(outer)).toEqual(['work']);
  expect(readdirSync(cwd)).toEqual(['millrace-', 'millrace-_______a.md']);
});
