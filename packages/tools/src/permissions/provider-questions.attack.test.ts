import { defineTool, mcpApprovalTool } from '@millrace/agent';
import { type JsonObject, toolCallId, toolCallPart } from '@millrace/core';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { approveByPolicy } from './approve-by-policy.ts';
import { permissionPolicy } from './permission-policy.ts';

// A provider can call several MCP servers. All their tools ask for approval through the same tool,
// `mcp_approval`.

const root = process.cwd();
const workspace = { root, resolve: () => Promise.reject(new Error('It has no path')) };

/** Returns the rule that a standing approval of a call adds. */
async function ruleOf(server_label: string, name: string, lasting: 'exact' | 'wide') {
  const tool = mcpApprovalTool();
  const input = { server_label, name, arguments: {} };
  const call = toolCallPart(toolCallId('c'), tool.name, input);
  const approve = approveByPolicy(permissionPolicy({ root }), workspace, { lasting });
  const ruling = await approve({ name: tool.name, call, tool, input, summary: '' });
  expect(ruling).toMatchObject({ decision: 'ask', rule: expect.any(String) });
  return typeof ruling === 'string' ? ruling : ruling.rule;
}

test.for(['exact', 'wide'] as const)(
  'attack: an approval that lasts covers one tool of one server (%s)',
  async (lasting) => {
    const looking = await ruleOf('shop', 'look', lasting);
    expect(await ruleOf('shop', 'look', lasting)).toBe(looking);
    expect(await ruleOf('shop', 'delete_all', lasting)).not.toBe(looking);
    expect(await ruleOf('bank', 'look', lasting)).not.toBe(looking);
    expect(looking).toContain('shop');
  },
);

test('attack: no name of a server or a tool imitates another pair', async () => {
  const pairs = [
    ['a" of the MCP server "b', 'c'],
    ['b', 'c" of the MCP server "a'],
    ['b', 'a'],
  ] as const;
  const rules = await Promise.all(pairs.map(([server, name]) => ruleOf(server, name, 'exact')));
  expect(new Set(rules).size).toBe(pairs.length);
});

test('attack: an approval that lasts does not acknowledge a danger that the provider sees', async () => {
  const tool = defineTool({
    ...{ name: 'computer', description: 'Clicks', answers: 'openai.computer', input: z.unknown() },
    execute: async () => 'Done.',
  });
  const approve = approveByPolicy(permissionPolicy({ root }), workspace);
  const rulingOn = (input: JsonObject) => {
    const call = toolCallPart(toolCallId('c'), tool.name, input);
    return approve({ name: tool.name, call, tool, input, summary: '' });
  };
  const actions = [{ type: 'click', x: 1, y: 2 }];
  const danger = { pending_safety_checks: [{ id: 'sc_1', message: 'A page gives orders' }] };
  expect(await rulingOn({ actions })).toMatchObject({ rule: expect.any(String) });
  const ruling = await rulingOn({ actions, ...danger });
  expect(ruling).toMatchObject({ decision: 'ask', reason: expect.stringContaining('danger') });
  expect(ruling).not.toHaveProperty('rule');
});
