import { z } from 'zod';
import { jsonObjectSchema } from './json.ts';

export const agentInfoSchema = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  acp_type: z.enum(['sync', 'async', 'agentic']),
  status: z.enum(['Ready', 'Failed', 'Unknown', 'Deleted', 'Unhealthy', 'BuildOnly']),
  status_reason: z.string().nullable(),
  created_at: z.string(),
  updated_at: z.string(),
  registered_at: z.string().nullable(),
  registration_metadata: jsonObjectSchema.nullable(),
  agent_input_type: z.enum(['text', 'json']).nullable(),
  production_deployment_id: z.string().nullable(),
});

/** What the wire calls an agent: what is known of one that is served. */
export type AgentInfo = z.output<typeof agentInfoSchema>;
