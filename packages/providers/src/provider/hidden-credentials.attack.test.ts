import { type Item, itemId } from '@millrace/core';
import { expect, test } from 'vitest';
import { anthropic, openaiResponses } from '../index.ts';
import { describeModelRequest } from './create-provider.ts';

const user: Item = {
  ...{ id: itemId('i'), kind: 'user' },
  parts: [{ kind: 'text', text: 'My token is tea.' }],
};

test.each([
  [
    'openaiResponses',
    () =>
      openaiResponses({
        ...{ model: 'm', apiKey: 'key-of-the-api' },
        extraTools: [
          {
            ...{ type: 'mcp', server_label: 'orders', authorization: 'MCPSECRET1' },
            server_url: 'https://ann:MCPSECRET4@mcp.example/sse?key=MCPSECRET2',
            headers: { Authorization: 'Bearer MCPSECRET3', 'x-api-key': 'MCPSECRET5' },
          },
        ],
      }).describe?.({ items: [user] }),
  ],
  [
    'anthropic',
    () =>
      anthropic({ model: 'm', apiKey: 'key-of-the-api' }).describe?.({
        items: [user],
        providerOptions: {
          anthropic: {
            mcp_servers: [
              {
                ...{ type: 'url', url: 'https://mcp.example/sse', name: 'orders' },
                authorization_token: 'MCPSECRET1',
              },
            ],
          },
        },
      }),
  ],
  [
    'a provider without HTTP',
    () =>
      describeModelRequest({
        items: [user],
        providerOptions: { own: { password: 'MCPSECRET1', apiKey: 'MCPSECRET2', depth: 3 } },
      }),
  ],
])('18.144: attack: the description of a request of %s contains credentials', (_, describe) => {
  const text = JSON.stringify(describe());
  expect(text).toContain('My token is tea.');
  expect(text).toContain('[hidden]');
  expect(text).not.toContain('MCPSECRET');
});
