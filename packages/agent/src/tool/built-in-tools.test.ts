import type { JsonObject, ToolResultPart } from '@millrace/core';
import { openaiResponses, type ResponsesOptions } from '@millrace/providers';
import { sseReply } from '@millrace/providers/scripted-server';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Tool, ToolOutput } from '../contract/tool.ts';
import { type AgentOptions, createAgent } from '../create-agent.ts';
import { useTestServer } from '../testing/test-server.ts';
import { defineTool } from './define-tool.ts';
import { mcpApprovalTool } from './mcp-approval.ts';

const server = useTestServer();

const reasoning = { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'sealed' };

/** Replies with these items, then with a text. */
function script(...items: readonly JsonObject[]): void {
  const message = {
    type: 'message',
    id: 'msg_1',
    role: 'assistant',
    status: 'completed',
    content: [{ type: 'output_text', text: 'Done.', annotations: [] }],
  };
  for (const output of [items, [message]]) {
    const events = [
      { type: 'response.created', response: { id: 'resp_1' } },
      ...output.flatMap((item, output_index) => [
        {
          type: 'response.output_item.added',
          output_index,
          item: { ...item, status: 'in_progress' },
        },
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: { id: 'resp_1', status: 'completed', output } },
    ];
    server.reply(sseReply(events.map((event) => ({ data: JSON.stringify(event) }))));
  }
}

function agentWith(
  tools: readonly Tool[],
  options: Partial<AgentOptions> = {},
  more: Partial<ResponsesOptions> = {},
) {
  const provider = openaiResponses({
    model: 'gpt-5.1',
    preset: 'openai',
    baseUrl: server.url(),
    apiKey: 'key',
    ...more,
  });
  return createAgent({ provider, tools, retry: { baseDelayMs: 1 }, ...options });
}

interface Sent {
  readonly tools: readonly JsonObject[];
  readonly input: readonly JsonObject[];
}

const sent = (index: number) => server.requests()[index]?.body as unknown as Sent;

const output = (text: string, more: Partial<ToolOutput['output']> = {}): ToolOutput => ({
  output: { text, ...more },
});

const shellCall = {
  type: 'shell_call',
  id: 'sh_1',
  call_id: 'call_1',
  status: 'completed',
  action: { commands: ['ls -a', 'pwd'], timeout_ms: 9000, max_output_length: 500 },
  environment: { type: 'local' },
};

function bash(returned: ToolOutput, seen: unknown[] = []) {
  return defineTool({
    name: 'bash',
    description: 'Runs a command',
    input: z.object({ command: z.string(), timeout_ms: z.number().optional() }),
    answers: 'openai.shell',
    execute: async (input) => {
      seen.push(input);
      return returned;
    },
  });
}

describe('19.4: a call of the built-in shell', () => {
  test('is run by the tool that answers it, with permission, and answered in its format', async () => {
    const [seen, asked]: [unknown[], unknown[]] = [[], []];
    const agent = agentWith([bash(output('a\n/', { value: { exitCode: 0 } }), seen)], {
      approve: ({ call, input }) => {
        asked.push([call.name, input]);
        return 'allow';
      },
    });
    script(reasoning, shellCall);
    const run = agent.run('List the files.');
    const { text, stop } = await run.result;
    expect([text, stop.reason]).toEqual(['Done.', 'stop']);
    const input = { command: 'ls -a\npwd', timeout_ms: 9000 };
    expect(seen).toEqual([input]);
    expect(asked).toEqual([['bash', input]]);
    expect(sent(0).tools).toEqual([{ type: 'shell', environment: { type: 'local' } }]);
    expect(await agent.replay(run.session)).not.toHaveProperty('divergence');
    expect(sent(1).input.slice(1)).toEqual([
      reasoning,
      shellCall,
      {
        type: 'shell_call_output',
        call_id: 'call_1',
        output: [{ stdout: 'a\n/', stderr: '', outcome: { type: 'exit', exit_code: 0 } }],
        max_output_length: 500,
      },
    ]);
  });

  test.each([
    [
      output('…', { value: { exitCode: null, timedOut: true }, isError: true }),
      { stdout: '…', stderr: '', outcome: { type: 'timeout' } },
    ],
    [
      output('no such file', { value: { exitCode: 2 }, isError: true }),
      { stdout: 'no such file', stderr: '', outcome: { type: 'exit', exit_code: 2 } },
    ],
  ])('tells the model how the command ended', async (returned, expected) => {
    script(shellCall);
    await agentWith([bash(returned)]).run('Go.').result;
    expect(sent(1).input.at(-1)?.['output']).toEqual([expected]);
  });

  test('that is denied says so', async () => {
    script(shellCall);
    const denied = { decision: 'deny', reason: 'not today' } as const;
    await agentWith([bash(output(''))], { approve: () => denied }).run('Go.').result;
    expect(sent(1).input.at(-1)?.['output']).toEqual([
      {
        stdout: '',
        stderr: 'It was not allowed: not today',
        outcome: { type: 'exit', exit_code: 1 },
      },
    ]);
  });

  test('that no tool answers gets a result that says so', async () => {
    script(shellCall);
    const { text } = await agentWith([], {}, { extraTools: [{ type: 'shell' }] }).run('Go.').result;
    expect(text).toBe('Done.');
    expect(sent(1).input.at(-1)).toMatchObject({
      type: 'shell_call_output',
      call_id: 'call_1',
      output: [{ stderr: 'There is no tool "shell". There are none.' }],
    });
  });

  test('that the provider runs in a container stays a part of the answer', async () => {
    const environment = { type: 'container_reference', container_id: 'c_1' };
    const call = { ...shellCall, environment };
    const result = { type: 'shell_call_output', id: 'sho_1', call_id: 'call_1', output: [] };
    const message = {
      type: 'message',
      id: 'msg_0',
      role: 'assistant',
      status: 'completed',
      content: [{ type: 'output_text', text: 'Two files.', annotations: [] }],
    };
    script(call, { ...result, status: 'completed' }, message);
    const extraTools = [{ type: 'shell', environment: { type: 'container_auto' } } as const];
    const { text } = await agentWith([], {}, { extraTools }).run('Go.').result;
    expect(text).toBe('Two files.');
    expect(server.requests()).toHaveLength(1);
    await agentWith([]).run('Go on.').result;
  });

  test('is a function for other servers', async () => {
    server.answer({ text: 'Done.' });
    await agentWith([bash(output(''))], {}, { preset: 'compatible' }).run('Go.').result;
    expect(sent(0).tools).toMatchObject([{ type: 'function', name: 'bash' }]);
  });
});

describe('19.4: calls of other built-in tools', () => {
  const answering = (
    answers: NonNullable<Tool['answers']>,
    returned: ToolOutput,
    seen: unknown[] = [],
  ) =>
    defineTool({
      name: 'helper',
      description: 'Helps',
      input: z.looseObject({}),
      answers,
      execute: async (input) => {
        seen.push(input);
        return returned;
      },
    });

  test('local_shell: a program with its folder and environment', async () => {
    const seen: unknown[] = [];
    const call = {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'call_1',
      status: 'completed',
      action: {
        type: 'exec',
        command: ['grep', '-r', "it's"],
        env: { LANG: 'C', 'a b': 'x' },
        working_directory: 'my folder',
        timeout_ms: null,
      },
    };
    const script2 = { ...call, id: 'lsh_2', call_id: 'call_2' };
    const shell = { type: 'exec', command: ['bash', '-lc', 'ls | wc -l'], env: {} };
    script(call, { ...script2, action: shell });
    await agentWith([answering('openai.local_shell', output('7'), seen)]).run('Go.').result;
    expect(seen).toEqual([
      { command: "cd 'my folder' || exit 1\nexport LANG=C\ngrep -r 'it'\\''s'" },
      { command: 'ls | wc -l' },
    ]);
    expect(sent(0).tools).toEqual([{ type: 'local_shell' }]);
    expect(sent(1).input.slice(-4)).toEqual([
      call,
      { ...script2, action: shell },
      { type: 'local_shell_call_output', id: 'call_1', output: '7' },
      { type: 'local_shell_call_output', id: 'call_2', output: '7' },
    ]);
  });

  test.each([
    [false, 'completed'],
    [true, 'failed'],
  ])('apply_patch: the operation, and whether it failed (%s)', async (isError, status) => {
    const seen: unknown[] = [];
    const operation = { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b\n' };
    const call = { type: 'apply_patch_call', id: 'apc_1', call_id: 'call_1', operation };
    script({ ...call, status: 'completed', created_by: 'model' });
    const tool = answering('openai.apply_patch', output('Edited a.txt', { isError }), seen);
    await agentWith([tool]).run('Go.').result;
    expect(seen).toEqual([operation]);
    expect(sent(0).tools).toEqual([{ type: 'apply_patch' }]);
    expect(sent(1).input.slice(1)).toEqual([
      { ...call, status: 'completed' },
      { type: 'apply_patch_call_output', call_id: 'call_1', status, output: 'Edited a.txt' },
    ]);
  });

  const click = { type: 'click', button: 'left', x: 1, y: 2 };
  const check = { id: 'cu_sc_1', code: 'malicious_instructions', message: 'The page is odd' };
  const computerCall = {
    type: 'computer_call',
    id: 'cu_1',
    call_id: 'call_1',
    status: 'completed',
    action: click,
    pending_safety_checks: [check],
  };
  const screen: NonNullable<ToolResultPart['attachments']>[number] = {
    kind: 'media',
    mimeType: 'image/png',
    source: { type: 'bytes', bytes: Uint8Array.of(1, 2, 3) },
  };

  test('computer: a picture of the screen, after the user has seen the danger', async () => {
    const seen: unknown[] = [];
    script(reasoning, computerCall);
    const tool = answering('openai.computer', output('', { attachments: [screen] }), seen);
    const run = agentWith([tool]).run('Go.');
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      expect(event.reason).toBe(check.message);
      await run.approve(event.toolCallId);
    }
    await run.result;
    expect(seen).toEqual([{ actions: [click], pending_safety_checks: [check] }]);
    expect(sent(0).tools).toEqual([{ type: 'computer' }]);
    expect(sent(1).input.slice(1)).toEqual([
      reasoning,
      computerCall,
      {
        type: 'computer_call_output',
        call_id: 'call_1',
        output: { type: 'computer_screenshot', image_url: 'data:image/png;base64,AQID' },
        acknowledged_safety_checks: [check],
      },
    ]);
  });

  test('computer: a result without a picture is sent as that of a function', async () => {
    script(reasoning, { ...computerCall, pending_safety_checks: [] });
    const tool = answering('openai.computer', output('There is no screen.', { isError: true }));
    await agentWith([tool]).run('Go.').result;
    expect(sent(1).input.slice(1)).toEqual([
      {
        type: 'function_call',
        call_id: 'call_1',
        name: 'helper',
        arguments: JSON.stringify({ actions: [click] }),
      },
      { type: 'function_call_output', call_id: 'call_1', output: 'There is no screen.' },
    ]);
  });

  test('a stored response is continued with the output only, if the output has its format', async () => {
    const stored = { store: true, sendsOnlyNew: true };
    script(shellCall);
    await agentWith([bash(output('a'))], {}, stored).run('Go.').result;
    expect(sent(1)).toMatchObject({
      previous_response_id: 'resp_1',
      input: [{ type: 'shell_call_output', call_id: 'call_1' }],
    });
    script({ ...computerCall, pending_safety_checks: [] });
    const tool = answering('openai.computer', output('There is no screen.', { isError: true }));
    await agentWith([tool], {}, stored).run('Go.').result;
    expect(sent(3)).not.toHaveProperty('previous_response_id');
    expect(sent(3).input).toHaveLength(3);
  });

  test('tool_search: the tools that were found', async () => {
    const search = {
      type: 'tool_search_call',
      id: 'tsc_1',
      call_id: 'call_1',
      execution: 'client',
      arguments: { goal: 'weather' },
      status: 'completed',
    };
    script(search);
    const schema = { type: 'object', properties: {} };
    const found = { name: 'weather', description: 'The weather', inputSchema: schema };
    const hosted = { type: 'web_search' };
    const value = { tools: [found, hosted] };
    const tool = answering('openai.tool_search', output('weather', { value }));
    await agentWith([tool]).run('Go.').result;
    expect(sent(0).tools).toMatchObject([
      { type: 'tool_search', execution: 'client', description: 'Helps', parameters: {} },
    ]);
    expect(sent(1).input.slice(1)).toEqual([
      search,
      {
        type: 'tool_search_output',
        call_id: 'call_1',
        execution: 'client',
        status: 'completed',
        tools: [
          {
            type: 'function',
            name: 'weather',
            description: 'The weather',
            parameters: schema,
            strict: false,
            defer_loading: true,
          },
          hosted,
        ],
      },
    ]);
  });

  test('a tool cannot answer what no provider has, and two tools cannot answer the same', () => {
    const unknown = 'openai.teapot' as 'openai.shell';
    expect(() => answering(unknown, output(''))).toThrow(/no built-in tool openai\.teapot/);
    const other = { ...answering('openai.shell', output('')), name: 'other' };
    expect(() => agentWith([bash(output('')), other])).toThrow(/both bash and other/);
  });
});

describe('19.4: a provider that asks before it calls an MCP server', () => {
  const request = {
    type: 'mcp_approval_request',
    id: 'mcpr_1234567890123456789012345678901234567890123456789',
    name: 'refund',
    arguments: '{"order":7}',
    server_label: 'shop',
  };
  const mcp = { type: 'mcp', server_label: 'shop', server_url: 'https://example.com/mcp' } as const;

  test.each([
    ['approve', {}],
    ['deny', { reason: 'too much' }],
  ] as const)('gets the answer of the user: %s', async (decision, given) => {
    script(request);
    const run = agentWith([mcpApprovalTool()], {}, { extraTools: [mcp] }).run('Refund order 7.');
    for await (const event of run.events) {
      if (event.type !== 'approval_asked') continue;
      expect(event.name).toBe('mcp_approval');
      if (decision === 'approve') await run.approve(event.toolCallId);
      else await run.deny(event.toolCallId, given);
    }
    expect((await run.result).text).toBe('Done.');
    expect(sent(0).tools).toEqual([mcp]);
    expect(sent(1).input.slice(1)).toEqual([
      request,
      {
        type: 'mcp_approval_response',
        approval_request_id: request.id,
        approve: decision === 'approve',
        ...(decision === 'deny' && { reason: 'It was not allowed: too much' }),
      },
    ]);
  });

  test('is refused if nobody can be asked', async () => {
    script(request);
    await agentWith([], {}, { extraTools: [mcp] }).run('Refund order 7.').result;
    expect(sent(1).input.at(-1)).toMatchObject({
      type: 'mcp_approval_response',
      approve: false,
      reason: expect.stringContaining('There is no tool "mcp_approval"'),
    });
  });
});
