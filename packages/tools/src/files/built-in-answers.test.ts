import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createAgent } from '@millrace/agent';
import type { JsonObject } from '@millrace/core';
import { openaiResponses } from '@millrace/providers';
import { sseReply, startScriptedServer } from '@millrace/providers/scripted-server';
import { expect, test } from 'vitest';
import { approveByPolicy } from '../permissions/approve-by-policy.ts';
import { permissionPolicy } from '../permissions/permission-policy.ts';
import { bashTool } from '../shell/bash-tool.ts';
import { temporaryFolder } from '../testing/temporary-folder.ts';
import { createWorkspace } from '../workspace/workspace.ts';
import { applyPatchTool } from './patch-tool.ts';

const reply = (...output: readonly JsonObject[]) =>
  sseReply([
    ...output.map((item, output_index) => ({
      data: JSON.stringify({ type: 'response.output_item.done', output_index, item }),
    })),
    {
      data: JSON.stringify({
        type: 'response.completed',
        response: { status: 'completed', output },
      }),
    },
  ]);

test('19.4: bash answers shell and apply_patch changes files, by the rules of the policy', async () => {
  const root = temporaryFolder();
  writeFileSync(join(root, 'tide.txt'), 'High at five.\n');
  writeFileSync(join(root, 'harbour.txt'), 'Kiel\n');
  await using server = await startScriptedServer();
  const shell = (call_id: string, commands: readonly string[]) => ({
    type: 'shell_call',
    id: `sh_${call_id}`,
    call_id,
    status: 'completed',
    action: { commands, timeout_ms: null, max_output_length: null },
  });
  const operation = {
    type: 'update_file',
    path: 'tide.txt',
    diff: '@@\n-High at five.\n+High at six.\n',
  };
  const patch = { type: 'apply_patch_call', id: 'apc_1', call_id: 'c3', status: 'completed' };
  const text = { type: 'output_text', text: 'Done.', annotations: [] };
  server.reply(
    reply(shell('c1', ['cat harbour.txt', 'false']), shell('c2', ['rm tide.txt']), {
      ...patch,
      operation,
    }),
  );
  server.reply(reply({ type: 'message', id: 'm', role: 'assistant', content: [text] }));
  const workspace = createWorkspace({ root });
  const policy = permissionPolicy({
    root,
    rules: [
      { tool: 'bash', decision: 'allow' },
      { tool: 'bash', command: 'rm', decision: 'deny' },
      { tool: 'apply_patch', path: 'tide.txt', decision: 'allow' },
    ],
  });
  const agent = createAgent({
    provider: openaiResponses({
      model: 'gpt-5.1',
      preset: 'openai',
      baseUrl: server.url,
      apiKey: 'key',
    }),
    tools: [bashTool({ workspace, answers: 'openai.shell' }), applyPatchTool(workspace)],
    approve: approveByPolicy(policy, workspace),
    whileAsking: 'park',
  });
  const { text: answer } = await agent.run('Correct the tide.').result;
  expect(answer).toBe('Done.');
  const [first, second] = server.requests.map(({ body }) => body as JsonObject);
  expect(first?.['tools']).toEqual([
    { type: 'shell', environment: { type: 'local' } },
    { type: 'apply_patch' },
  ]);
  const input = (second?.['input'] ?? []) as readonly JsonObject[];
  expect(input.slice(-3)).toEqual([
    {
      type: 'shell_call_output',
      call_id: 'c1',
      output: [
        {
          stdout: 'Kiel\n[Exit code 1]',
          stderr: '',
          outcome: { type: 'exit', exit_code: 1 },
        },
      ],
    },
    {
      type: 'shell_call_output',
      call_id: 'c2',
      output: [
        {
          stdout: '',
          stderr: expect.stringContaining('It was not allowed'),
          outcome: { type: 'exit', exit_code: 1 },
        },
      ],
    },
    {
      type: 'apply_patch_call_output',
      call_id: 'c3',
      status: 'completed',
      output: expect.stringContaining('+High at six.'),
    },
  ]);
  expect(readFileSync(join(root, 'tide.txt'), 'utf8')).toBe('High at six.\n');
});
