import type { JsonObject } from '@millrace/core';

/** What is known of an agent that is served. */
export interface AgentInfo {
  readonly id: string;
  readonly name: string;
  readonly description: string;
  readonly acp_type: 'sync' | 'async' | 'agentic';
  readonly status: 'Ready' | 'Failed' | 'Unknown' | 'Deleted' | 'Unhealthy' | 'BuildOnly';
  readonly status_reason: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly registered_at: string | null;
  readonly registration_metadata: JsonObject | null;
  readonly agent_input_type: 'text' | 'json' | null;
  readonly production_deployment_id: string | null;
}

/** How it is spoken to. `loop`: it takes commands while it works. */
export type AgentKind = 'loop' | 'sync' | 'async';

export function kindOf({ acp_type, registration_metadata }: AgentInfo): AgentKind {
  if (registration_metadata?.['kind'] === 'loop') return 'loop';
  return acp_type === 'sync' ? 'sync' : 'async';
}
