import { defineTool, type FormAnswer, type Tool, type ToolContext } from '@millrace/agent';
import {
  type FormQuestion,
  foldersQuestion,
  fromBase64,
  type JsonObject,
  modelQuestion,
} from '@millrace/core';
import type { Log } from '@millrace/log';
import { z } from 'zod';
import { type ToolAgentOptions, toolAgent } from '../../agents/tool-agent.ts';
import type { LoopAgent } from '../../contract/served-agent.ts';
import type { McpOptions } from '../../routes/mcp/mcp-options.ts';

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
const wav = 'UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=';
const bytes = (data: string) => fromBase64(data) ?? new Uint8Array();
const image = {
  kind: 'media',
  mimeType: 'image/png',
  source: { type: 'bytes', bytes: bytes(png) },
} as const;
const audio = {
  kind: 'media',
  mimeType: 'audio/wav',
  source: { type: 'bytes', bytes: bytes(wav) },
} as const;
const file = {
  kind: 'file',
  name: 'embedded',
  mimeType: 'text/plain',
  source: { type: 'bytes', bytes: new TextEncoder().encode('This is an embedded resource.') },
} as const;

function tool(
  name: string,
  execute: (input: Record<string, unknown>, context: ToolContext) => Promise<unknown>,
  fields: Record<string, z.ZodType> = {},
): Tool {
  const input = z.object(fields);
  return defineTool({ name, description: name, input, execute: execute as never }) as Tool;
}

async function askForm(context: ToolContext, form: FormQuestion): Promise<FormAnswer> {
  return (await context.ask?.(form)) ?? { action: 'cancel' };
}

const ask = (context: ToolContext, message: string, schema: JsonObject) =>
  askForm(context, { message, schema });
const contentOf = (said: FormAnswer, name: string) =>
  'content' in said ? String(said.content[name]) : said.action;

const text = (description: string) => ({ type: 'string', description });
const person: JsonObject = {
  type: 'object',
  properties: { username: text("User's response"), email: text("User's email address") },
  required: ['username', 'email'],
};
const nameForm: JsonObject = {
  ...{ type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
};
const contextForm: JsonObject = {
  ...{ type: 'object', properties: { context: { type: 'string' } }, required: ['context'] },
};
const confirmForm: JsonObject = {
  ...{ type: 'object', properties: { confirm: { type: 'boolean' } }, required: ['confirm'] },
};
const whoAreYou = { key: 'user_name', message: 'What is your name?', schema: nameForm };
const capital = modelQuestion({
  ...{ prompt: 'What is the capital of France?', maxTokens: 100, key: 'capital_question' },
});
const defaults: JsonObject = {
  type: 'object',
  properties: {
    name: { type: 'string', description: 'Name', default: 'John Doe' },
    age: { type: 'integer', description: 'Age', default: 30 },
    score: { type: 'number', description: 'Score', default: 95.5 },
    status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
    verified: { type: 'boolean', description: 'Verified', default: true },
  },
  required: [],
};
const titled = ['1', '2', '3'].map((n) => ({ const: `value${n}`, title: `Option ${n}` }));
const plain = ['option1', 'option2', 'option3'];
const enums: JsonObject = {
  type: 'object',
  properties: {
    untitledSingle: { type: 'string', enum: plain },
    titledSingle: { type: 'string', oneOf: titled },
    legacyEnum: {
      ...{ type: 'string', enum: ['opt1', 'opt2', 'opt3'] },
      enumNames: ['Option One', 'Option Two', 'Option Three'],
    },
    untitledMulti: { type: 'array', items: { type: 'string', enum: plain } },
    titledMulti: { type: 'array', items: { anyOf: titled } },
  },
  required: [],
};

const answer = (result: object) => `User response: ${JSON.stringify(result)}`;
const wait = (ms: number, signal: AbortSignal) =>
  new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      reject(new Error('stopped'));
    });
  });

/** The tools that the official conformance suite calls, as far as this server can offer them. */
const conformanceTools: readonly Tool[] = [
  tool('test_simple_text', async () => 'This is a simple text response for testing.'),
  tool('test_image_content', async () => ({ output: { text: '', attachments: [image] } })),
  tool('test_audio_content', async () => ({ output: { text: '', attachments: [audio] } })),
  tool('test_embedded_resource', async () => ({ output: { text: '', attachments: [file] } })),
  tool('test_multiple_content_types', async () => ({
    output: { text: 'Multiple content types test:', attachments: [image, file] },
  })),
  tool('test_error_handling', async () => {
    throw new Error('This tool intentionally returns an error for testing');
  }),
  tool('test_tool_with_progress', async (_, context) => {
    for (const done of [0, 50, 100]) {
      context.update(`${done} of 100\n`);
      await wait(50, context.signal);
    }
    return 'done';
  }),
  tool('test_reconnection', async () => 'Reconnected'),
  tool(
    'test_elicitation',
    async ({ message }, context) => answer(await ask(context, String(message), person)),
    { message: z.string() },
  ),
  tool('test_elicitation_sep1034_defaults', async (_, context) =>
    answer(await ask(context, 'Please review', defaults)),
  ),
  tool('test_elicitation_sep1330_enums', async (_, context) =>
    answer(await ask(context, 'Please choose', enums)),
  ),
  tool('test_input_required_result_elicitation', async (_, context) => {
    return `Hello, ${contentOf(await askForm(context, whoAreYou), 'name')}!`;
  }),
  tool('test_input_required_result_sampling', async (_, context) =>
    contentOf(await askForm(context, capital), 'text'),
  ),
  tool('test_input_required_result_list_roots', async (_, context) =>
    contentOf(await askForm(context, foldersQuestion({ key: 'client_roots' })), 'folders'),
  ),
  tool('test_input_required_result_multiple_inputs', async (_, context) => {
    const [name, greeting, folders] = await Promise.all([
      askForm(context, whoAreYou),
      askForm(context, modelQuestion({ prompt: 'Greet', maxTokens: 50, key: 'greeting' })),
      askForm(context, foldersQuestion({ key: 'client_roots' })),
    ]);
    return [
      contentOf(name, 'name'),
      contentOf(greeting, 'text'),
      contentOf(folders, 'folders'),
    ].join();
  }),
  tool('test_input_required_result_capabilities', async (_, context) => {
    const [name, city] = await Promise.all([
      askForm(context, whoAreYou),
      askForm(context, capital),
    ]);
    return [contentOf(name, 'name'), contentOf(city, 'text')].join();
  }),
  tool(
    'test_sampling',
    async ({ prompt }, context) => {
      const question = modelQuestion({ prompt: String(prompt), maxTokens: 100 });
      return `LLM response: ${contentOf(await askForm(context, question), 'text')}`;
    },
    { prompt: z.string() },
  ),
  tool('test_missing_capability', async (_, context) =>
    contentOf(await askForm(context, capital), 'text'),
  ),
  tool('test_tool_with_task', async (_, context) => {
    return `Worked for ${contentOf(await askForm(context, whoAreYou), 'name')}`;
  }),
  tool('test_input_required_result_request_state', async (_, context) => {
    await ask(context, 'Confirm?', confirmForm);
    return 'state-ok';
  }),
  tool('test_input_required_result_tampered_state', async (_, context) => {
    await ask(context, 'Confirm?', confirmForm);
    return 'state-ok';
  }),
  tool('test_input_required_result_multi_round', async (_, context) => {
    await ask(context, 'Step 1: name?', nameForm);
    const color = { type: 'object', properties: { color: { type: 'string' } } };
    await ask(context, 'Step 2: color?', { ...color, required: ['color'] });
    return 'Both steps are done';
  }),
  tool('test_streaming_elicitation', async (_, context) =>
    answer(await ask(context, 'What is your name?', nameForm)),
  ),
  tool('test_logging_tool', async (_, context) => {
    context.update('A message that only clients with a level get\n');
    return 'Logged';
  }),
  tool('test_tool_with_logging', async (_, context) => {
    for (const text of ['execution started', 'processing data', 'execution completed']) {
      context.update(`Tool ${text}\n`);
      await wait(50, context.signal);
    }
    return 'Logged';
  }),
  tool('greet', async ({ name }) => `Hello, ${String(name)}!`, { name: z.string() }),
  tool(
    'slow_compute',
    async ({ seconds }, { signal }) => {
      await wait(Number(seconds) * 1000, signal);
      return 'computed';
    },
    { seconds: z.number() },
  ),
  tool('failing_job', async () => {
    throw new Error('The job failed');
  }),
  tool(
    'confirm_delete',
    async ({ filename }, context) => {
      const said = await ask(context, `Delete ${String(filename)}?`, confirmForm);
      return said.action === 'accept' ? `Deleted ${String(filename)}` : 'Kept';
    },
    { filename: z.string() },
  ),
  tool('multi_input', async (_, context) => {
    await Promise.all([
      ask(context, 'Your name?', nameForm),
      ask(context, 'Are you sure?', confirmForm),
    ]);
    return 'Both answered';
  }),
  {
    ...tool('json_schema_2020_12_tool', async () => 'ok'),
    inputSchema: {
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      $defs: {
        address: {
          ...{ $anchor: 'addressDef', type: 'object' },
          properties: { street: { type: 'string' }, city: { type: 'string' } },
        },
      },
      properties: {
        name: { type: 'string' },
        address: { $ref: '#/$defs/address' },
        contactMethod: { type: 'string', enum: ['phone', 'email'] },
        phone: { type: 'string' },
        email: { type: 'string' },
      },
      allOf: [{ anyOf: [{ required: ['phone'] }, { required: ['email'] }] }],
      if: { properties: { contactMethod: { const: 'phone' } }, required: ['contactMethod'] },
      // biome-ignore lint/suspicious/noThenProperty: `then` is a keyword of JSON Schema
      then: { required: ['phone'] },
      else: { required: ['email'] },
      additionalProperties: false,
    },
  },
  {
    ...tool('test_headers', async () => 'ok', { region: z.string().optional() }),
    inputSchema: {
      ...{ type: 'object', required: ['region'] },
      properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
    },
  },
];

/** What the server knows about the tools in addition to their schemas. */
const offered: Pick<ToolAgentOptions, 'longTools' | 'needs'> = {
  longTools: [
    ...['slow_compute', 'confirm_delete', 'multi_input'],
    { name: 'failing_job', needsTask: true },
    { name: 'test_tool_with_task', needsTask: true, asksFirst: true },
  ],
  needs: { test_missing_capability: ['sampling'] },
};

/** Returns the agents whose tools the official conformance suite calls. */
export function conformanceAgents(log: Log): readonly LoopAgent[] {
  return [
    toolAgent({ name: 'tools', tools: conformanceTools, ...offered, log }),
    // The run of this agent fails before the tool starts, so the call has no result.
    toolAgent({
      ...{ name: 'broken', log, longTools: ['protocol_error_job'] },
      tools: [tool('protocol_error_job', async () => 'Never called')],
      prepareStep: () => {
        throw new Error('The agent is broken');
      },
    }),
  ];
}

const user = (content: JsonObject) => ({ role: 'user', content });

/** The prompts and resources that the official conformance suite reads. */
export const conformanceOptions: McpOptions = {
  prompts: [
    {
      ...{ name: 'test_simple_prompt', description: 'A prompt without arguments' },
      get: async () => 'This is a simple prompt for testing.',
    },
    {
      ...{ name: 'test_prompt_with_arguments', description: 'A prompt with arguments' },
      arguments: [
        { name: 'arg1', required: true, complete: async () => ['paris', 'park', 'party'] },
        { name: 'arg2', required: true },
      ],
      get: async ({ arg1, arg2 }) => `Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`,
    },
    {
      ...{ name: 'test_prompt_with_embedded_resource', description: 'A prompt with a resource' },
      arguments: [{ name: 'resourceUri', required: true }],
      get: async ({ resourceUri: uri = '' }) => [
        user({ type: 'resource', resource: { uri, mimeType: 'text/plain', text: 'Embedded' } }),
        user({ type: 'text', text: 'Please process the embedded resource above.' }),
      ],
    },
    {
      ...{ name: 'test_prompt_with_image', description: 'A prompt with an image' },
      get: async () => [
        user({ type: 'image', data: png, mimeType: 'image/png' }),
        user({ type: 'text', text: 'Please analyze the image above.' }),
      ],
    },
    {
      ...{ name: 'test_input_required_result_prompt', description: 'A prompt that asks the user' },
      get: async (_, reader) => {
        const message = 'What context should the prompt use?';
        const said = await reader.ask({ key: 'user_context', message, schema: contextForm });
        return `Use this context: ${contentOf(said, 'context')}`;
      },
    },
  ],
  resources: [
    {
      ...{ uri: 'test://watched-resource', name: 'watched', mimeType: 'text/plain' },
      read: async () => 'This resource never changes.',
      watch: async function* () {},
    },
    {
      ...{ uri: 'test://static-text', name: 'text', mimeType: 'text/plain' },
      read: async () => 'This is the content of the static text resource.',
    },
    {
      ...{ uri: 'test://static-binary', name: 'binary', mimeType: 'image/png' },
      read: async () => bytes(png),
    },
    {
      ...{ uri: 'test://template/{id}/data', name: 'template', mimeType: 'application/json' },
      read: async ({ id }) =>
        JSON.stringify({ id, templateTest: true, data: `Data for ID: ${id}` }),
    },
  ],
};
