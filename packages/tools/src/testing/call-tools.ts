import type { JsonValue } from '@millrace/core';
import { editTool } from '../files/edit-tool.ts';
import { lsTool } from '../files/ls-tool.ts';
import { readTool } from '../files/read-tool.ts';
import { writeTool } from '../files/write-tool.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { runTool } from './tool-context.ts';

// A program that runs tools as a different user or with system limits. Usage: `call-tools.ts <root> <[[tool,
// input], …]>`.

const [root = '.', calls = '[]'] = process.argv.slice(2);
const workspace = createWorkspace({ root });
const tools = [readTool, writeTool, editTool, lsTool].map((make) => make(workspace));
for (const [name, input] of JSON.parse(calls) as readonly (readonly [string, JsonValue])[]) {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) throw new Error(`There is no tool ${name}`);
  const { text, isError } = await runTool(tool, input);
  process.stdout.write(`${JSON.stringify({ text, isError })}\n`);
}
