import { expect, test } from 'vitest';
import { anthropic } from '../anthropic/provider.ts';
import { openaiResponses } from '../openai-responses/provider.ts';
import { describeModelRequest } from '../provider/create-provider.ts';

// A reader of a shared session requests the model request of a turn. The operator of the agent uses hosted
// MCP servers with credentials.

const request = {
  items: [],
  tools: [
    {
      name: 'sign_in',
      description: 'Signs in',
      inputSchema: {
        type: 'object',
        properties: { token: { type: 'string', default: 'd' }, password: { type: 'string' } },
      },
    },
  ],
} as const;

test('18.135: attack: the description of a request has no credentials of a hosted MCP server', () => {
  const provider = openaiResponses({
    ...{ model: 'gpt-5', apiKey: 'sk-test' },
    extraTools: [
      {
        ...{ type: 'mcp', server_label: 'a', authorization: 'SECRET1' },
        server_url: 'https://user:SECRET2@mcp.example/path?key=SECRET3#SECRET4',
        headers: { Authorization: 'Bearer SECRET5', 'X-Other': 'SECRET6' },
      },
    ],
  });
  const described = JSON.stringify(provider.describe?.(request as never));
  expect(described).not.toContain('SECRET');
  expect(described).toContain('https://mcp.example/path');
  expect(described).toContain('"password":{"type":"string"}');
  expect(described).toContain('"default":"d"');
});

test('18.135: attack: the options of a provider show no credentials', () => {
  const providerOptions = {
    anthropic: {
      mcp_servers: [
        { type: 'url', name: 'a', url: 'https://a.example/', authorization_token: 'SECRET1' },
      ],
    },
    openai: { extra_headers: { cookie: 'SECRET2' }, client_secret: 'SECRET3', apiKey: 'SECRET4' },
  };
  const own = anthropic({ model: 'claude-sonnet-4-5', apiKey: 'sk-ant-test' });
  const texts = [
    JSON.stringify(own.describe?.({ ...request, providerOptions } as never)),
    JSON.stringify(describeModelRequest({ ...request, providerOptions } as never)),
  ];
  for (const text of texts) {
    expect(text).not.toContain('SECRET');
    expect(text).toContain('sign_in');
  }
});
