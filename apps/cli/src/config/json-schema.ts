import { z } from 'zod';
import { configSchema } from './config-schema.ts';

/** The JSON schema of the configuration, as millrace.schema.json has it, for editors. */
export function configJsonSchema(): object {
  const schema = z.toJSONSchema(configSchema, { target: 'draft-7', io: 'input' });
  return { ...schema, title: 'millrace.json' };
}
