import {
  type Client,
  type Tool as RemoteTool,
  type RequestOptions,
  SdkError,
  SdkErrorCode,
} from '@modelcontextprotocol/client';
import { z } from 'zod';
import { clip } from '../transport/error-text.ts';

/** Receives a description of a tool that is not in the result. */
export type ReportProblem = (problem: string) => void;

/** Lists all tools of a server. It reports and omits invalid tools. */
export async function listTools(
  client: Client,
  options: RequestOptions,
  report: ReportProblem,
): Promise<readonly RemoteTool[]> {
  try {
    return (await client.listTools(undefined, { ...options, cacheMode: 'refresh' })).tools;
  } catch (error) {
    // The SDK client rejects the whole list if one tool is invalid.
    if (!isUnreadable(error)) throw error;
    return validTools(await listUnchecked(client, options), report);
  }
}

/**
 * True if the list could not be read. A `RangeError` means that a very deeply nested value has overflowed the
 * stack.
 */
function isUnreadable(error: unknown): boolean {
  if (error instanceof RangeError) return true;
  return SdkError.isInstance(error) && error.code === SdkErrorCode.InvalidResult;
}

const page = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().optional() });
const maxPages = 64;

async function listUnchecked(client: Client, options: RequestOptions): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let cursor: string | undefined;
  for (let count = 0; count < maxPages; count++) {
    const params = cursor === undefined ? {} : { cursor };
    const { tools, nextCursor } = await client.request(
      { method: 'tools/list', params },
      page,
      options,
    );
    all.push(...tools);
    if (nextCursor === undefined) return all;
    cursor = nextCursor;
  }
  throw new Error(`its list of tools does not end: pagination continued after ${maxPages} pages`);
}

const text = z.string().optional().catch(undefined);
const hint = z.boolean().optional().catch(undefined);

/** The schema of the fields that this package needs. All other fields are ignored. */
const requiredFields = z.object({
  name: z.string(),
  title: text,
  description: text,
  _meta: z.record(z.string(), z.unknown()).optional().catch(undefined),
  annotations: z
    .object({ title: text, readOnlyHint: hint, idempotentHint: hint })
    .optional()
    .catch(undefined),
  inputSchema: z.looseObject({
    type: z.literal('object'),
    properties: z.record(z.string(), z.unknown()).optional(),
    required: z.array(z.string()).optional(),
  }),
});

function validTools(given: readonly unknown[], report: ReportProblem): readonly RemoteTool[] {
  return given.flatMap((one, index) => {
    const { success, data, error } = requiredFields.safeParse(one);
    if (success) return [data as RemoteTool];
    report(`its tool ${toolLabel(one, index)} is left out: its ${firstIssue(error)}`);
    return [];
  });
}

function toolLabel(one: unknown, index: number): string {
  const { name } = (one ?? {}) as { readonly name?: unknown };
  return typeof name === 'string' ? clip(name, 100) : `number ${index + 1}`;
}

/** Returns a description of the first problem. */
function firstIssue({ issues }: z.ZodError): string {
  const { path = [], message = '' } = issues[0] ?? {};
  return `${path.map(String).join('.') || 'definition'} cannot be read (${message})`;
}
