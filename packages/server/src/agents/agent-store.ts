import { type Ids, isMillraceError, type JsonObject } from '@millrace/core';
import type { RegisterAgent, RegisterBuild } from '../contract/request-bodies.ts';
import type { Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, PageQuery, Ref } from '../contract/service.ts';
import type { AgentInfo } from '../contract/task.ts';
import { changeRow, isoTime, listRows, noSuch, rowRefusal } from '../stores/row-access.ts';

/** An agent, and where it lives: in this process, or at a URL. */
export interface KeptAgent {
  readonly info: AgentInfo;
  readonly url: string | null;
}

type Fields = Omit<AgentInfo, 'id' | 'created_at' | 'updated_at'>;

const nothing = {
  status_reason: null,
  registered_at: null,
  registration_metadata: null,
  agent_input_type: null,
  production_deployment_id: null,
} as const;

/** The rows of agents. */
export class AgentRows {
  readonly #rows: Rows;
  readonly #ids: Ids;
  readonly #now: () => number;

  constructor(rows: Rows, ids: Ids, now: () => number) {
    this.#rows = rows;
    this.#ids = ids;
    this.#now = now;
  }

  async find(ref: Ref): Promise<KeptAgent | undefined> {
    const row = 'id' in ref ? await this.#rows.get('agents', ref.id) : await this.#named(ref.name);
    const kept = row && keptAgent(row);
    return kept?.info.status === 'Deleted' ? undefined : kept;
  }

  async get(ref: Ref): Promise<KeptAgent> {
    const kept = await this.find(ref);
    if (kept === undefined) throw noSuch('agent', 'id' in ref ? ref.id : ref.name);
    return kept;
  }

  list(page: PageQuery): Promise<ListPage<AgentInfo>> {
    const show = (row: Row) => keptAgent(row).info;
    return listRows(this.#rows, { table: 'agents', where: { is_shown: 'yes' }, show }, page);
  }

  /** All that are not in this process. */
  async remote(): Promise<readonly KeptAgent[]> {
    const found: KeptAgent[] = [];
    for (let after: { at: number; id: string } | undefined; ; ) {
      const rows = await this.#rows.list('agents', {
        ...{ where: { is_shown: 'yes', is_remote: 'yes' }, limit: 500, after },
      });
      found.push(...rows.map(keptAgent));
      const last = rows.at(-1);
      if (last === undefined) return found;
      after = { at: last.createdAt, id: last.id };
    }
  }

  /** One of this process, under the id that it had before, if it did. */
  async serve(
    given: Pick<AgentInfo, 'name' | 'description' | 'acp_type' | 'registration_metadata'>,
  ): Promise<AgentInfo> {
    const fields: Fields = { ...nothing, ...given, status: 'Ready' };
    const put = async () => this.#put(await this.#named(given.name), fields, null);
    // Another server of the same rows may have been quicker to make it.
    return (await put().catch((error) => (isTaken(error) ? put() : Promise.reject(error)))).info;
  }

  async build(body: RegisterBuild): Promise<AgentInfo> {
    const known = await this.#named(body.name);
    if (known !== undefined && keptAgent(known).info.status !== 'Deleted')
      return keptAgent(known).info;
    const fields: Fields = {
      ...nothing,
      ...registered(body),
      acp_type: 'async',
      status: 'BuildOnly',
    };
    return (await this.#put(known, fields, null)).info;
  }

  /** Makes it, or takes the place of the one with its name. */
  async register(body: RegisterAgent): Promise<KeptAgent> {
    const known = await this.#named(body.name);
    const fields: Fields = {
      ...{ ...nothing, ...registered(body), acp_type: body.acp_type, status: 'Ready' },
      registered_at: isoTime(this.#now()),
    };
    return this.#put(known, fields, body.acp_url, body.agent_id ?? undefined);
  }

  async setStatus(
    id: string,
    status: AgentInfo['status'],
    reason: string | null,
  ): Promise<AgentInfo> {
    const { row } = await changeRow(this.#rows, 'agents', id, (before) => {
      const { info, url } = keptAgent(before);
      if (info.status === 'Deleted' || info.status === status) return undefined;
      const { id: _, created_at, updated_at, ...fields } = info;
      return contentOf({ ...fields, status, status_reason: reason }, url);
    });
    return keptAgent(row).info;
  }

  async #put(
    known: Row | undefined,
    fields: Fields,
    url: string | null,
    wanted?: string,
  ): Promise<KeptAgent> {
    const id = known?.id ?? (await this.#freeId(wanted));
    const content = contentOf(fields, url);
    return this.#rows.put('agents', { id, ...content }).then(keptAgent, (error) => {
      throw rowRefusal(error);
    });
  }

  /** An id that another one has is another one's. */
  async #freeId(wanted: string | undefined): Promise<string> {
    if (wanted === undefined) return this.#ids.session();
    if ((await this.#rows.get('agents', wanted)) === undefined) return wanted;
    const message = `Cannot register an agent as ${wanted}: that is the id of one with another name. Leave out agent_id`;
    throw new ServerError('conflict', message, { agent: wanted });
  }

  async #named(name: string): Promise<Row | undefined> {
    const [row] = await this.#rows.list('agents', { where: { name }, limit: 1 });
    return row;
  }
}

function isTaken(error: unknown): boolean {
  return isMillraceError(error) && error.code === 'conflict';
}

function registered({ name, description, ...body }: RegisterBuild) {
  return {
    ...{ name, description, agent_input_type: body.agent_input_type ?? null },
    registration_metadata: body.registration_metadata ?? null,
  };
}

function contentOf(fields: Fields, url: string | null): Pick<Row, 'keys' | 'data'> {
  const keys = {
    name: fields.name,
    ...(fields.status !== 'Deleted' && { is_shown: 'yes' }),
    ...(url !== null && { is_remote: 'yes' }),
  };
  return { keys, data: { ...fields, acp_url: url } as JsonObject };
}

function keptAgent({ id, data, createdAt, updatedAt }: Row): KeptAgent {
  const { acp_url: url, ...fields } = data as unknown as Fields & {
    readonly acp_url: string | null;
  };
  const times = { created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) };
  return { info: { id, ...fields, ...times }, url };
}
