import type { Tool } from '@millrace/agent';
import type { Tool as RemoteTool } from '@modelcontextprotocol/client';
import type { Remote } from './call-tool.ts';
import { remoteTool } from './remote-tool.ts';
import { toolNames } from './tool-names.ts';

const maxTools = 1_000;
const maxSchemaLength = 100_000;

/** The tools that a server had when it was asked last. */
export class ToolShelf {
  readonly #remote: Remote;
  #tools: readonly Tool[] = [];
  #listed: string | undefined;

  constructor(remote: Remote) {
    this.#remote = remote;
  }

  get tools(): readonly Tool[] {
    return this.#tools;
  }

  get isFilled(): boolean {
    return this.#listed !== undefined;
  }

  /** Whether they are others than before. */
  fill(given: readonly RemoteTool[]): boolean {
    const listed = JSON.stringify(given);
    if (listed === this.#listed) return false;
    this.#listed = listed;
    const first = new Map(given.toReversed().map((tool) => [tool.name, tool]));
    const offered = [...first.values()].reverse().filter((tool) => this.#isBounded(tool));
    if (offered.length > maxTools)
      this.#remote.report(`it has ${offered.length} tools; the first ${maxTools} are taken`);
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
    const isBounded = JSON.stringify(inputSchema).length <= maxSchemaLength;
    if (!isBounded) this.#remote.report(`its tool ${name} is left out: its schema is too long`);
    return isBounded;
  }
}
