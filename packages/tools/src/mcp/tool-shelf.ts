import type { Tool } from '@millrace/agent';
import { checkJson } from '@millrace/core';
import type { Tool as RemoteTool } from '@modelcontextprotocol/client';
import type { Remote } from './call-tool.ts';
import { clip } from './clip.ts';
import { remoteTool } from './remote-tool.ts';
import { toolNames } from './tool-names.ts';

const maxTools = 1_000;
const maxSchemaLength = 100_000;
const schemaLimits = { maxDepth: 64, maxTextLength: Number.MAX_SAFE_INTEGER };

/** The tools that a server had when it was asked last. */
export class ToolShelf {
  readonly #remote: Remote;
  #tools: readonly Tool[] = [];
  #listed: string | undefined;
  // A list is read again and again, and what is wrong with it is said once.
  readonly #told = new Set<string>();

  constructor(remote: Remote) {
    this.#remote = remote;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  get isFilled(): boolean {
    return this.#listed !== undefined;
  }

  tell(problem: string): void {
    if (this.#told.has(problem) || this.#told.size >= maxTools) return;
    this.#told.add(problem);
    this.#remote.report(problem);
  }

  /** Whether they are others than before. */
  fill(given: readonly RemoteTool[]): boolean {
    const first = new Map(given.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...first.values()].reverse().filter((tool) => this.#isBounded(tool));
    const listed = JSON.stringify(offered);
    if (listed === this.#listed) return false;
    this.#listed = listed;
    if (offered.length > maxTools)
      this.tell(`it has ${offered.length} tools; the first ${maxTools} are taken`);
    const names = toolNames(
      this.#remote.server,
      offered.map(({ name }) => name),
    );
    this.#tools = offered
      .slice(0, maxTools)
      .map((tool) => remoteTool(this.#remote, names.get(tool.name) ?? tool.name, tool));
    return true;
  }

  #isBounded({ name, inputSchema }: RemoteTool): boolean {
    // First how deep it is: what is too deep cannot be written as text.
    const isDeep = checkJson(inputSchema, schemaLimits) !== undefined;
    const isBounded = !isDeep && JSON.stringify(inputSchema).length <= maxSchemaLength;
    const why = isDeep ? 'nested too deeply' : 'too long';
    if (!isBounded) this.tell(`its tool ${clip(name, 100)} is left out: its schema is ${why}`);
    return isBounded;
  }
}
