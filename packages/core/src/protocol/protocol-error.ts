import { type ErrorPlace, MillraceError } from '../errors.ts';

/** The reason why a delta or a fact does not fit the records before it. */
export type Refusal =
  | 'unknown_part'
  | 'part_closed'
  | 'unknown_item'
  | 'item_closed'
  | 'open_parts'
  | 'gap'
  | 'conflict'
  | 'wrong_kind'
  | 'wrong_attempt'
  | 'no_value'
  | 'not_json'
  | 'bad_value'
  | 'lone_surrogate'
  | 'out_of_order'
  | 'too_large';

const sayings: { readonly [Code in Refusal]: string } = {
  unknown_part: 'no such part was begun; begin it, or commit it whole',
  part_closed:
    'the part was committed or retracted, and its id is not used again; begin a new part',
  unknown_item: 'no such item was started; record item_started first',
  item_closed: 'the item is finished; start a new item',
  open_parts: 'parts of the item are still open; commit or retract them first',
  gap: 'something before it is missing; send again from where the part or the log ends',
  conflict:
    'it contradicts what came before under the same id; use a new id, or send what was sent',
  wrong_kind: 'parts of this kind do not grow that way; use the operation of its kind',
  wrong_attempt:
    'the id, the record and the item name another turn or attempt; make ids for this one',
  no_value: 'the part has no value yet; set one first, or retract the part',
  not_json: 'the value is not JSON; send only what JSON can say, within the depth limit',
  bad_value: 'the field at that path is not what it must be; write what PROTOCOL.md has there',
  lone_surrogate: 'the text has half of a surrogate pair; send both halves in one chunk',
  out_of_order: 'its offset does not follow the one before; send records in the order of the log',
  too_large: 'it is over a limit; send less at once, put it into a blob, or raise the limit',
};

// The maximum length of an id or type in an error message, because untrusted ids and types can be very long.
const maxShown = 100;

/**
 * Thrown if the protocol does not allow a record after the earlier records. The refused record has no effect.
 */
export class ProtocolError extends MillraceError<Refusal> {
  constructor(code: Refusal, what: string, given: ErrorPlace, options?: ErrorOptions) {
    const place = shortened(given);
    const where = Object.entries(place).map(([key, value]) => `${key} ${value}`);
    const tried = what.slice(0, maxShown);
    super(code, `Cannot ${tried} (${where.join(', ')}): ${sayings[code]}`, place, options);
  }
}

function shortened(place: ErrorPlace): ErrorPlace {
  const given = Object.entries(place).filter(([, value]) => value !== undefined);
  return Object.fromEntries(
    given.map(([key, value]) => [
      key,
      typeof value === 'string' ? value.slice(0, maxShown) : value,
    ]),
  );
}
