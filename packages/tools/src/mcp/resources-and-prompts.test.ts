import type { ToolContext } from '@millrace/agent';
import type { FormQuestion } from '@millrace/core';
import {
  createMcpHandler,
  McpServer,
  ResourceTemplate,
  UrlElicitationRequiredError,
} from '@modelcontextprotocol/server';
import { afterEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { McpOptions } from '../contract/mcp-options.ts';
import { call, McpConnections, stdioServer } from '../testing/mcp-connections.ts';

const connections = new McpConnections();
afterEach(() => connections.closeAll());

/** Connects to a server of the official SDK that runs in this process. */
function connectTo(build: (server: McpServer) => void, options?: McpOptions) {
  const handler = createMcpHandler(() => {
    const server = new McpServer({ name: 'library', version: '1.0.0' });
    build(server);
    return server;
  });
  const fetchHere: typeof fetch = (input, init) => handler.fetch(new Request(input, init));
  const http = { url: 'http://localhost/mcp', fetch: fetchHere };
  return { connected: connections.connect({ name: 'test', http }, options), handler };
}

function addBooks(server: McpServer) {
  server.registerResource('emma', 'book://emma', { title: 'Emma', mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'book://emma', text: 'Emma Woodhouse, handsome, clever, and rich' }],
  }));
  const template = new ResourceTemplate('book://{title}', { list: undefined });
  server.registerResource('any', template, { description: 'Any book' }, (uri) => ({
    contents: [{ uri: uri.href, blob: 'JVBERg==', mimeType: 'application/pdf' }],
  }));
}

describe('24.4: resources', () => {
  test('are listed and read with two tools', async () => {
    const server = await connectTo(addBooks).connected;
    expect(server.tools.map(({ name }) => name)).toEqual([
      ...['test_list_resources', 'test_read_resource'],
    ]);
    const { text } = await call(server, 'list_resources');
    expect(text.split('\n')).toEqual([
      'book://emma · Emma · text/plain',
      'template book://{title} · any · Any book',
    ]);
    const emma = await call(server, 'read_resource', { uri: 'book://emma' });
    expect(emma.text).toBe('[resource book://emma]\nEmma Woodhouse, handsome, clever, and rich');
    const other = await call(server, 'read_resource', { uri: 'book://persuasion' });
    expect(other.attachments).toMatchObject([{ kind: 'file', mimeType: 'application/pdf' }]);
  });

  test('that do not exist are an error for the model', async () => {
    const server = await connectTo(addBooks).connected;
    const missing = await call(server, 'read_resource', { uri: 'paper://none' });
    expect(missing).toMatchObject({ isError: true });
    expect((await call(server, 'read_resource', {})).text).toBe('The argument uri is missing');
  });

  test('a tool of the server with the same name is used instead', async () => {
    const server = await connectTo((books) => {
      addBooks(books);
      const answer = () => ({ content: [{ type: 'text' as const, text: 'mine' }] });
      books.registerTool('read_resource', { inputSchema: z.object({}) }, answer);
    }).connected;
    expect(server.tools).toHaveLength(2);
    expect((await call(server, 'read_resource')).text).toBe('mine');
  });
});

describe('24.4: prompts', () => {
  test('are listed with their arguments, and become a text', async () => {
    const server = await connectTo((prompts) =>
      prompts.registerPrompt(
        'review',
        { description: 'Reviews a file', argsSchema: z.object({ file: z.string() }) },
        ({ file }) => ({
          messages: [
            { role: 'user', content: { type: 'text', text: `Review ${file}` } },
            { role: 'assistant', content: { type: 'text', text: 'Which part?' } },
          ],
        }),
      ),
    ).connected;
    expect(server.prompts).toMatchObject([
      {
        name: 'review',
        description: 'Reviews a file',
        arguments: [{ name: 'file', isRequired: true }],
      },
    ]);
    expect(await server.getPrompt('review', { file: 'a.ts' })).toBe(
      'Review a.ts\n\nAssistant: Which part?',
    );
    await expect(server.getPrompt('other')).rejects.toMatchObject({ code: 'prompt_failed' });
  });

  test('are listed again when the server reports a change', async () => {
    const names = ['first'];
    const { connected, handler } = connectTo((prompts) => {
      for (const name of names)
        prompts.registerPrompt(name, {}, () => ({
          messages: [{ role: 'user', content: { type: 'text', text: name } }],
        }));
    });
    const server = await connected;
    expect(server.prompts.map(({ name }) => name)).toEqual(['first']);
    names.push('second');
    // The client waits 100 ms for further changes, so changes must not follow each other faster.
    await expect
      .poll(
        () => {
          handler.notify.promptsChanged();
          return server.prompts.map(({ name }) => name);
        },
        { interval: 500 },
      )
      .toEqual(['first', 'second']);
  });
});

describe('24.4: a server that asks the user to open a page', () => {
  const asked = (url: string, ask?: ToolContext['ask']) =>
    connections
      .connect(stdioServer())
      .then((server) => call(server, 'ask_url', { url }, { ...(ask && { ask }) }));

  test('18.361: attack: the text of the server comes before the address, and imitates it', async () => {
    const forms: FormQuestion[] = [];
    const ask: ToolContext['ask'] = async (form) => {
      forms.push(form);
      return { action: 'accept', content: {} };
    };
    const { text } = await asked('https://pay.example.com/a?b=1', ask);
    expect(JSON.parse(text)).toEqual({ action: 'accept' });
    expect(forms).toEqual([
      {
        message:
          'The MCP server test asks you to open a page of pay.example.com:\nhttps://pay.example.com/a?b=1\nAgree after you have opened it. The text of the server:\n\nPay here',
        schema: { type: 'object', properties: {} },
      },
    ]);
  });

  test('a server can get a refusal, also if nobody can be asked', async () => {
    const url = 'https://pay.example.com/';
    const { text } = await asked(url, async () => ({ action: 'decline' }));
    expect(JSON.parse(text)).toEqual({ action: 'decline' });
    expect(JSON.parse((await asked(url)).text)).toEqual({ action: 'cancel' });
  });

  test.for([
    'javascript:alert(1)',
    'file:///etc/passwd',
    'https://bank.com@evil.example.com/',
    'x',
  ])('attack 18.333: the address %s is not shown', async (url) => {
    let count = 0;
    const { text } = await asked(url, async () => {
      count++;
      return { action: 'accept', content: {} };
    });
    expect(count).toBe(0);
    expect(text).not.toContain('accept"');
  });

  test('a call that needs a page first is repeated after the user agrees', async () => {
    let isPaid = false;
    const page = { mode: 'url', url: 'https://pay.example.com/', elicitationId: '1' } as const;
    const { connected } = connectTo(
      (shop) =>
        shop.registerTool('buy', { inputSchema: z.object({}) }, () => {
          if (isPaid) return { content: [{ type: 'text', text: 'bought' }] };
          throw new UrlElicitationRequiredError([{ ...page, message: 'Pay' }]);
        }),
      // Later revisions ask during the call.
      { negotiate: false },
    );
    const server = await connected;
    const ask: ToolContext['ask'] = async () => {
      isPaid = true;
      return { action: 'accept', content: {} };
    };
    expect((await call(server, 'buy')).isError).toBe(true);
    expect((await call(server, 'buy', {}, { ask })).text).toBe('bought');
  });
});
