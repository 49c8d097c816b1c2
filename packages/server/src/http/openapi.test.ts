import { Validator } from '@seriousme/openapi-schema-validator';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { allRoutes } from '../routes/all-routes.ts';
import { startTestServer, type TestServer } from '../testing/servers/test-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startTestServer();
});
afterAll(() => server[Symbol.asyncDispose]());

describe('the OpenAPI document', () => {
  test('is valid', async () => {
    const { json } = await server.request('/openapi.json');
    const result = await new Validator().validate(json);
    expect(result).toEqual({ valid: true });
  });

  test('has a version that Agentex clients accept', async () => {
    const { json } = await server.request('/openapi.json');
    const [major, minor] = json.info.version.split('.').map(Number);
    expect(major * 1000 + minor).toBeGreaterThanOrEqual(1);
  });

  test('has every route, with unique operation ids', async () => {
    const { json } = await server.request('/openapi.json');
    const operations = Object.values<object>(json.paths).flatMap((path) => Object.values(path));
    expect(operations).toHaveLength(allRoutes.length);
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(allRoutes.length);
    for (const path of [
      '/agents/{agent_id}/rpc',
      '/agents/name/{agent_name}/rpc',
      '/tasks/{task_id}/stream',
      '/messages/paginated',
      '/openapi.json',
    ])
      expect(json.paths).toHaveProperty([path]);
  });

  test('has the headers that a route reads', async () => {
    const { json } = await server.request('/openapi.json');
    const headersOf = (path: string, method: string): readonly string[] =>
      json.paths[path][method].parameters
        .filter((parameter: { in: string }) => parameter.in === 'header')
        .map(({ name }: { name: string }) => name);
    expect(headersOf('/agents/name/{agent_name}/rpc', 'post')).toEqual(['idempotency-key']);
    expect(headersOf('/tasks/{task_id}/commands', 'post')).toEqual(['idempotency-key']);
    expect(headersOf('/tasks/{task_id}/stream', 'get')).toEqual(['last-event-id']);
    expect(headersOf('/tasks/{task_id}', 'get')).toEqual([]);
  });

  test('has no dangling references', async () => {
    const { text, json } = await server.request('/openapi.json');
    const refs = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, ref = '']) => ref);
    expect(refs.length).toBeGreaterThan(50);
    for (const ref of new Set(refs)) {
      const [, ...steps] = ref.split('/');
      expect(json).toHaveProperty(steps);
    }
  });
});

describe('22.11: the OpenAPI document', () => {
  interface Operation {
    readonly parameters: readonly { readonly name: string; readonly description?: string }[];
    readonly responses: Readonly<Record<string, { readonly content: Content }>>;
  }
  type Content = Readonly<Record<string, { readonly schema: { readonly $ref: string } }>>;

  async function load() {
    const { json } = await server.request('/openapi.json');
    const operations = Object.values<object>(json.paths).flatMap((path) =>
      Object.values<Operation>(path as Readonly<Record<string, Operation>>),
    );
    const schemaAt = ($ref: string) => json.components.schemas[$ref.split('/').at(-1) ?? ''];
    return { json, operations, schemaAt };
  }

  test('describes every parameter', async () => {
    const { operations } = await load();
    const parameters = operations.flatMap((operation) => operation.parameters);
    expect(parameters.length).toBeGreaterThan(100);
    expect(parameters.filter(({ description = '' }) => description === '')).toEqual([]);
  });

  test('has the form of streams, results and records', async () => {
    const { json, operations, schemaAt } = await load();
    const streams = operations.flatMap(({ responses }) =>
      Object.values(responses).flatMap(({ content }) => content['text/event-stream'] ?? []),
    );
    expect(streams).toHaveLength(7);
    for (const { schema } of streams) expect(schemaAt(schema.$ref).type).not.toBe('string');
    const { schemas } = json.components;
    expect(schemas.post_agents_agent_id_rpc_reply.properties.result).toEqual({
      anyOf: [{ $ref: '#/components/schemas/RpcResult' }, { type: 'null' }],
    });
    expect(schemas.RpcResult.anyOf).toHaveLength(5);
    expect(schemas.RecordBatch.properties.records.items.$ref).toMatch(/\/Record$/);
    expect(Object.keys(schemas.Record.properties)).toContain('offset');
    expect(JSON.stringify(schemas.Update)).toContain('"text_delta":{"type":"string"}');
  });
});

describe('the reference page', () => {
  test('shows every path, runs no scripts and contacts no other host', async () => {
    const { status, text, headers } = await server.request('/docs');
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/html; charset=utf-8');
    for (const { path } of allRoutes) expect(text).toContain(path);
    expect(text).not.toMatch(/<script|<style|style=|\son\w+=|https?:/i);
    const policy = headers.get('content-security-policy');
    expect(policy).toContain("default-src 'none'");
    expect(policy).not.toContain('unsafe');
    const style = await server.request('/docs.css');
    expect([style.status, style.headers.get('content-type')]).toEqual([
      200,
      'text/css; charset=utf-8',
    ]);
  });
});
