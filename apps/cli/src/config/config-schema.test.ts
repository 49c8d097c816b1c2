import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { configJsonSchema } from './config-schema.ts';

const file = new URL('../../millrace.schema.json', import.meta.url);
const write =
  'WRITE_SCHEMA=1 npx vitest run apps/cli/src/config/config-schema.test.ts && npm run fix';

interface SchemaNode {
  readonly description?: string;
  readonly properties?: Readonly<Record<string, SchemaNode>>;
  readonly additionalProperties?: SchemaNode | boolean;
}

test('millrace.schema.json matches the schema of the program', () => {
  const schema = JSON.stringify(configJsonSchema(), undefined, 2);
  if (process.env['WRITE_SCHEMA'] === '1') writeFileSync(file, schema);
  const written: unknown = JSON.parse(readFileSync(file, 'utf8'));
  const stale = `apps/cli/millrace.schema.json is stale. Write it: ${write}`;
  expect(written, stale).toEqual(JSON.parse(schema));
});

test('every field has a description', () => {
  const bare: string[] = [];
  const walk = (node: SchemaNode, path: string) => {
    if (!node.description) bare.push(path);
    for (const [name, child] of Object.entries(node.properties ?? {}))
      walk(child, `${path}.${name}`);
    const { additionalProperties: rest } = node;
    if (typeof rest === 'object' && rest.properties !== undefined) walk(rest, `${path}.*`);
  };
  walk(configJsonSchema() as SchemaNode, 'config');
  expect(bare).toEqual([]);
});

test('what is not known is refused by editors too', () => {
  const { additionalProperties } = configJsonSchema() as SchemaNode;
  expect(additionalProperties).toBe(false);
});
