import { memoryLog } from '@millrace/log';
import { expect, onTestFinished, test } from 'vitest';
import { temporaryFolder, writeTree } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { bashTool } from './bash-tool.ts';

// A command prints a key. The key must not reach the model, the progress or the stored output.

const key = `sk-ant-api03-${'Ab1Cd2Ef3G'.repeat(4)}`;
const own = 'a value that only the agent has';

async function printed(command: string, maxOutputLength?: number) {
  const root = temporaryFolder();
  writeTree(root, { key: `${key}\n`, own: `${own}\n` });
  process.env['AGENT_TEST_SECRET'] = own;
  onTestFinished(() => void delete process.env['AGENT_TEST_SECRET']);
  const { blobs } = memoryLog();
  const bash = bashTool({ workspace: { root }, maxOutputLength });
  const { text, updates, value } = await runTool(bash, { command }, { blobs });
  const { wholeOutput } = value as { readonly wholeOutput?: { readonly hash: string } };
  const stored = wholeOutput && (await blobs.get(wholeOutput.hash));
  return { text, shown: updates.join(''), stored: stored && Buffer.from(stored).toString() };
}

test.for([
  ['at once', 'cat key own'],
  [
    'in pieces',
    'for f in key own; do while IFS= read -r -n1 c; do printf %s "$c"; done < $f; printf " \\n"; done',
  ],
  ['in the middle of a word', 'echo "A=$(cat key)B"; echo "x$(cat own)x"'],
] as const)('attack: a command prints a key $0', async ([, command]) => {
  const { text, shown } = await printed(command);
  for (const secret of ['Ab1Cd2Ef3G', own]) {
    expect(text).not.toContain(secret);
    expect(shown).not.toContain(secret);
  }
  expect(text).toContain('[masked]');
});

test('attack: a command prints a key in an output that is stored as a blob', async () => {
  const { text, shown, stored } = await printed('seq 5000; cat key own; seq 5000', 3000);
  expect(stored).toContain('[masked]');
  for (const output of [text, shown, stored ?? '']) {
    expect(output).not.toContain('Ab1Cd2Ef3G');
    expect(output).not.toContain(own);
  }
});

test('masking can be switched off', async () => {
  const root = temporaryFolder();
  writeTree(root, { key });
  const bash = bashTool({ workspace: { root }, maskSecrets: false });
  expect((await runTool(bash, { command: 'cat key' })).text).toBe(key);
});

test('18.293: attack: a command prints a key that is stored in a file of the agent', async () => {
  const root = temporaryFolder();
  const stored = 'a-key-without-a-known-form';
  const bash = bashTool({ workspace: { root }, maskedEnv: { VENDOR_API_KEY: stored } });
  const { text } = await runTool(bash, { command: `echo the key is ${stored}` });
  expect(text).toBe('the key is [masked]');
});
