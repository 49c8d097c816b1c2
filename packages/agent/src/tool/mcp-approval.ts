import type { McpApprovalInput } from '@millrace/providers';
import type { StandardJSONSchemaV1, StandardSchemaV1 } from '@standard-schema/spec';
import type { ApprovalDecision } from '../contract/settings.ts';
import type { CheckedToolCall } from '../contract/tool.ts';
import { type DefinedTool, defineTool } from './define-tool.ts';

/**
 * Creates a tool for providers that call MCP servers and ask for approval first. The provider's question
 * becomes a call of this tool. If the user approves that call, the provider may call the MCP server. If the
 * user denies it, the provider's call is refused. The tool itself does nothing. Without this tool, every call
 * that needs an approval is refused.
 *
 * @example
 * const mcp = { type: 'mcp', server_label: 'orders', server_url: 'https://mcp.example.com' } as const;
 * const provider = openaiResponses({ model: 'gpt-5.1', extraTools: [mcp] });
 * const agent = createAgent({ provider, tools: [mcpApprovalTool()] });
 */
export function mcpApprovalTool(): DefinedTool<'mcp_approval', McpApprovalInput> {
  return defineTool({
    name: 'mcp_approval',
    description: 'Approves a call that the provider makes to a tool of an MCP server.',
    input: approvalSchema,
    effects: 'external',
    // Running the tool again is safe, because the provider makes its MCP call only after it has received the
    // answer.
    afterCrash: 'repeat',
    answers: 'openai.mcp_approval',
    summarize: ({ server_label, name, arguments: given, arguments_text: text }) =>
      `${server_label}: ${name} ${text ?? JSON.stringify(given)}`,
    execute: async () => 'Approved.',
  });
}

/**
 * Returns the decision of the default policy. It asks the user if the provider requires an approval or
 * reports a danger. It allows all other calls.
 */
export function askIfProviderAsks({ tool, input }: CheckedToolCall): ApprovalDecision {
  if (tool.answers === 'openai.mcp_approval')
    return { decision: 'ask', reason: 'The provider asks before it calls the MCP server' };
  const { pending_safety_checks: checks } = (input ?? {}) as { pending_safety_checks?: unknown };
  if (tool.answers !== 'openai.computer' || !Array.isArray(checks) || checks.length === 0)
    return 'allow';
  const texts = checks.flatMap((check: { message?: unknown }) =>
    typeof check?.message === 'string' ? [check.message] : [],
  );
  return { decision: 'ask', reason: texts.join('; ') || 'The provider sees a danger' };
}

/**
 * Returns the reason why a call cannot run with the input that the user changed, if there is one. The
 * provider makes its MCP call with the original arguments. If the user approved changed arguments, the
 * provider would still run the original ones.
 */
export function reasonAgainstChange({ call, tool, input }: CheckedToolCall): string | undefined {
  if (tool.answers !== 'openai.mcp_approval') return undefined;
  if (JSON.stringify(input) === JSON.stringify(call.input)) return undefined;
  return 'its input was changed, but the provider makes the call only with the input that it asked about';
}

const jsonSchema = {
  type: 'object',
  properties: {
    server_label: { type: 'string' },
    name: { type: 'string' },
    arguments: { type: 'object' },
    arguments_text: { type: 'string' },
  },
  required: ['server_label', 'name', 'arguments'],
} as const;

/** The schema of the approval. It is handwritten, because this package depends on no schema library. */
const approvalSchema: StandardSchemaV1<McpApprovalInput> & StandardJSONSchemaV1<McpApprovalInput> =
  {
    '~standard': {
      version: 1,
      vendor: 'millrace',
      validate(given) {
        const {
          server_label,
          name,
          arguments: passed,
          arguments_text: text,
        } = (given ?? {}) as Partial<McpApprovalInput>;
        if (typeof server_label !== 'string' || typeof name !== 'string')
          return { issues: [{ message: 'server_label and name are texts' }] };
        if (typeof passed !== 'object' || passed === null || Array.isArray(passed))
          return { issues: [{ message: 'it is an object', path: ['arguments'] }] };
        if (text !== undefined && typeof text !== 'string')
          return { issues: [{ message: 'it is a text', path: ['arguments_text'] }] };
        const exact = text === undefined ? {} : { arguments_text: text };
        return { value: { server_label, name, arguments: passed, ...exact } };
      },
      jsonSchema: { input: () => ({ ...jsonSchema }), output: () => ({ ...jsonSchema }) },
    },
  };
