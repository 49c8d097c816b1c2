import type { Names, Skeleton } from './skeleton.ts';

/** Returns the skeleton of a tool that works in a folder, and its tests. */
export function toolSkeleton(names: Names): Skeleton {
  const folder = `packages/tools/src/${names.kebab}`;
  return {
    folder,
    test: folder,
    guide: 'docs/extend/tool.md',
    files: {
      [`${folder}/${names.kebab}-tool.ts`]: toolFile(names),
      [`${folder}/${names.kebab}-tool.test.ts`]: testFile(names),
    },
    steps: [
      `${names.kebab}-tool.ts: the description for the model, the input, and execute`,
      `${names.kebab}-tool.ts: this tool only reads; remove effects and afterCrash if yours does more`,
      `packages/tools/src/index.ts: export ${names.camel}Tool`,
      `packages/tools/src/permissions/tool-kinds.ts: how the policy treats it`,
      `apps/cli/src/agent/workspace-tools.ts: add it to the coding agent`,
    ],
  };
}

const toolFile = ({
  kebab,
  camel,
  pascal,
}: Names) => `import { type DefinedTool, defineTool } from '@millrace/agent';
import { z } from 'zod';
import type { Workspace } from '../workspace/workspace.ts';

/** The input of the tool. */
export interface ${pascal}Input {
  readonly path: string;
}

const input = z.object({
  path: z.string().describe('The file: relative to the workspace, or absolute inside it'),
});

const description = 'Not written yet: what the tool does, and when the model should use it';

/** Not written yet: what the tool does. */
export function ${camel}Tool(workspace: Workspace): DefinedTool<'${kebab.replaceAll('-', '_')}', ${pascal}Input> {
  return defineTool({
    name: '${kebab.replaceAll('-', '_')}',
    description,
    input,
    effects: 'none',
    afterCrash: 'repeat',
    summarize: ({ path }) => \`${kebab.charAt(0).toUpperCase() + kebab.slice(1).replaceAll('-', ' ')} \${path}\`,
    execute: async ({ path }) => {
      const { shown } = await workspace.resolve(path);
      throw new Error(\`Not written yet: the work on \${shown}\`);
    },
  });
}
`;

const testFile = ({ kebab, camel }: Names) => `import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { runTool } from '../testing/tool-context.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { ${camel}Tool } from './${kebab}-tool.ts';

let root: string;
beforeEach(() => {
  root = temporaryFolder();
});

const run = (path: string) => runTool(${camel}Tool(createWorkspace({ root })), { path });

test('the tool returns a result for a file', async () => {
  writeFileSync(join(root, 'orders.txt'), 'three\\n');
  expect(await run('orders.txt')).toMatchObject({ isError: false, text: 'Not written yet' });
});

test('a file outside of the workspace is refused', async () => {
  expect(await run('../elsewhere.txt')).toMatchObject({ isError: true });
});
`;
