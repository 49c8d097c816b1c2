import { expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { bashTool } from './bash-tool.ts';

test('the output of a command does not fill the memory, however long it is', async () => {
  const workspace = createWorkspace({ root: temporaryFolder() });
  const tool = bashTool({ workspace, maxKeptBytes: 1e6 });
  const { rss: before } = process.memoryUsage();
  let most = 0;
  const update = () => {
    most = Math.max(most, process.memoryUsage().rss - before);
  };
  const command = 'head -c 300000000 /dev/zero | tr "\\0" x';
  const { value, updates } = await runTool(tool, { command }, { update });
  expect(value).toMatchObject({
    outputLength: 3e8,
    droppedBytes: 3e8 - 1e6,
    wholeOutput: { length: 1e6 },
  });
  expect(updates.length).toBeGreaterThan(0);
  expect(updates.join('').length).toBeLessThan(300_000);
  expect(most).toBeLessThan(2e8);
});
