import type { Ids, JsonObject } from '@millrace/core';
import type { RegisterAgent, RegisterBuild } from '../contract/request-bodies.ts';
import type { Row, Rows } from '../contract/rows.ts';
import { ServerError } from '../contract/server-error.ts';
import type { ListPage, PageQuery, Ref } from '../contract/service.ts';
import type { AgentInfo } from '../contract/task.ts';
import { type Locality, localityOfText } from '../network/agent-network.ts';
import {
  type AgentKeyState,
  keyStateFields,
  readKeyState,
  registeredKey,
} from '../stores/agent-keys.ts';
import {
  changeRow,
  fromRowsError,
  isConflict,
  isoTime,
  listRows,
  notFoundError,
} from '../stores/row-access.ts';
import { deleteTokensOf } from '../stores/token-rows.ts';

/** An agent with its URL and its key. The URL is null if the agent runs in this process. */
export interface StoredAgent {
  readonly info: AgentInfo;
  readonly url: string | null;
  /** The kind of the most local address to which the server may connect for this agent. */
  readonly locality: Locality;
  readonly key: AgentKeyState;
}

/**
 * Decides whether a caller may register an agent, and returns its locality. It gets the row that the registration
 * replaces, also the row of a deleted agent. A concurrent change of this row makes the registration call it again.
 */
type Permit = (replaced: StoredAgent | undefined) => Promise<Locality>;

type Fields = Omit<AgentInfo, 'id' | 'created_at' | 'updated_at'>;

const emptyFields = {
  status_reason: null,
  registered_at: null,
  registration_metadata: null,
  agent_input_type: null,
  production_deployment_id: null,
} as const;

/** Maximum number of attempts to write a row. A write fails if a concurrent request changed the row. */
const maxAttempts = 20;

/** Stores agents in the row store. */
export class AgentStore {
  readonly #rows: Rows;
  readonly #ids: Ids;
  readonly #now: () => number;

  constructor(rows: Rows, ids: Ids, now: () => number) {
    this.#rows = rows;
    this.#ids = ids;
    this.#now = now;
  }

  async find(ref: Ref): Promise<StoredAgent | undefined> {
    const row =
      'id' in ref ? await this.#rows.get('agents', ref.id) : await this.#findByName(ref.name);
    const stored = row && storedAgent(row);
    return stored?.info.status === 'Deleted' ? undefined : stored;
  }

  async get(ref: Ref): Promise<StoredAgent> {
    const stored = await this.find(ref);
    if (stored === undefined) throw notFoundError('agent', 'id' in ref ? ref.id : ref.name);
    return stored;
  }

  list(page: PageQuery): Promise<ListPage<AgentInfo>> {
    const toItem = (row: Row) => storedAgent(row).info;
    return listRows(this.#rows, { table: 'agents', where: { is_shown: 'yes' }, toItem }, page);
  }

  /** Returns all remote agents. */
  async listRemote(): Promise<readonly StoredAgent[]> {
    const found: StoredAgent[] = [];
    for (let after: { at: number; id: string } | undefined; ; ) {
      const rows = await this.#rows.list('agents', {
        ...{ where: { is_shown: 'yes', is_remote: 'yes' }, limit: 500, after },
      });
      found.push(...rows.map(storedAgent));
      const last = rows.at(-1);
      if (last === undefined) return found;
      after = { at: last.createdAt, id: last.id };
    }
  }

  /** Stores an agent that runs in this process. An agent that was stored before keeps its id. */
  async registerLocal(
    agent: Pick<AgentInfo, 'name' | 'description' | 'acp_type' | 'registration_metadata'>,
  ): Promise<AgentInfo> {
    const fields: Fields = { ...emptyFields, ...agent, status: 'Ready' };
    return (await this.#put(fields, null)).info;
  }

  async registerBuild(body: RegisterBuild): Promise<AgentInfo> {
    const existing = await this.#findByName(body.name);
    if (existing !== undefined && storedAgent(existing).info.status !== 'Deleted')
      return storedAgent(existing).info;
    const fields: Fields = {
      ...emptyFields,
      ...registrationFields(body),
      acp_type: 'async',
      status: 'BuildOnly',
    };
    return (await this.#put(fields, null)).info;
  }

  /** Creates the agent, or replaces the agent with the same name. Throws the error of `permit`. */
  async register(body: RegisterAgent, permit: Permit): Promise<StoredAgent> {
    const fields: Fields = {
      ...{ ...emptyFields, ...registrationFields(body), acp_type: body.acp_type, status: 'Ready' },
      registered_at: isoTime(this.#now()),
    };
    return this.#put(fields, body.acp_url, { permit, wantedId: body.agent_id ?? undefined });
  }

  async setStatus(
    id: string,
    status: AgentInfo['status'],
    reason: string | null,
  ): Promise<AgentInfo> {
    const { row } = await changeRow(this.#rows, 'agents', id, (before) => {
      const { info, url, locality, key } = storedAgent(before);
      if (info.status === 'Deleted' || info.status === status) return undefined;
      const { id: _, created_at, updated_at, ...fields } = info;
      const isRevoked = key.isRevoked || status === 'Deleted';
      const changed = { ...fields, status, status_reason: reason };
      return rowContent(changed, url, locality, { ...key, isRevoked });
    });
    return storedAgent(row).info;
  }

  /**
   * Creates the agent, or replaces the agent with the same name. It retries if a concurrent request or a
   * different server changed the row. A key that was revoked in the meantime stays revoked. Only a registration with
   * `permit` gives the agent a new key.
   */
  async #put(
    fields: Fields,
    url: string | null,
    { permit, wantedId }: { readonly permit?: Permit; readonly wantedId?: string | undefined } = {},
  ): Promise<StoredAgent> {
    for (let attempt = 1; ; attempt++) {
      const existing = await this.#findByName(fields.name);
      const locality = (await permit?.(existing && storedAgent(existing))) ?? 'public';
      const id = existing?.id ?? (await this.#freeId(wantedId));
      // A process that crashed, or that created a token during the deletion, may have left tokens.
      if (existing !== undefined && storedAgent(existing).info.status === 'Deleted')
        await deleteTokensOf(this.#rows, { agent_id: id });
      const key = readKeyState(existing?.data ?? {});
      const next = permit === undefined ? key : registeredKey(key);
      const content = rowContent(fields, url, locality, next);
      try {
        const options = { ifVersion: existing?.version ?? 0 };
        return storedAgent(await this.#rows.put('agents', { id, ...content }, options));
      } catch (error) {
        if (!isConflict(error) || attempt === maxAttempts) throw fromRowsError(error);
      }
    }
  }

  /**
   * Returns the requested id. Without a requested id, it returns a new id. Throws if the requested id already
   * belongs to an agent with a different name.
   */
  async #freeId(wantedId: string | undefined): Promise<string> {
    if (wantedId === undefined) return this.#ids.session();
    if ((await this.#rows.get('agents', wantedId)) === undefined) return wantedId;
    const message = `Cannot register an agent as ${wantedId}: an agent with another name has this id. Omit agent_id`;
    throw new ServerError('conflict', message, { agent: wantedId });
  }

  async #findByName(name: string): Promise<Row | undefined> {
    const [row] = await this.#rows.list('agents', { where: { name }, limit: 1 });
    return row;
  }
}

function registrationFields({ name, description, ...body }: RegisterBuild) {
  return {
    ...{ name, description, agent_input_type: body.agent_input_type ?? null },
    registration_metadata: withoutServed(body.registration_metadata ?? null),
  };
}

/**
 * Removes the fields that describe what an agent of this process offers. A remote agent must not write them,
 * because the server offers such tools and models to all clients.
 */
function withoutServed(metadata: JsonObject | null): JsonObject | null {
  if (metadata === null) return null;
  const {
    kind: _kind,
    models: _models,
    tools: _tools,
    caller_options: _options,
    app_agent: _appAgent,
    only_app_calls: _onlyAppCalls,
    ...rest
  } = metadata;
  return rest;
}

function rowContent(
  fields: Fields,
  url: string | null,
  locality: Locality,
  key: AgentKeyState,
): Pick<Row, 'keys' | 'data'> {
  const keys = {
    name: fields.name,
    ...(fields.status !== 'Deleted' && { is_shown: 'yes' }),
    ...(url !== null && { is_remote: 'yes' }),
  };
  const remote = url === null ? {} : { acp_locality: locality };
  return {
    keys,
    data: { ...fields, acp_url: url, ...remote, ...keyStateFields(key) } as JsonObject,
  };
}

function storedAgent({ id, data, createdAt, updatedAt }: Row): StoredAgent {
  const {
    acp_url: url,
    acp_locality,
    key_generation,
    is_key_revoked,
    ...fields
  } = data as unknown as Fields & {
    readonly acp_url: string | null;
    readonly acp_locality?: Locality;
  } & ReturnType<typeof keyStateFields>;
  const times = { created_at: isoTime(createdAt), updated_at: isoTime(updatedAt) };
  // Earlier versions stored all fields of remote agents.
  const isRegistered = url !== null || fields.status === 'BuildOnly';
  const { registration_metadata: given } = fields;
  const registration_metadata = isRegistered ? withoutServed(given) : given;
  const info = { id, ...fields, registration_metadata, ...times };
  // Earlier versions did not store the locality.
  const locality = acp_locality ?? localityOfText(url ?? '');
  return { info, url, locality, key: readKeyState(data) };
}
