import { type ErrorPlace, MillraceError } from '@millrace/core';

export type UpdateRefusal = 'bad_update' | 'too_many_indexes' | 'writer_ended';

const sayings: { readonly [Code in UpdateRefusal]: string } = {
  bad_update:
    'it is not an update; send start, delta, full or done with the fields of its type at that path',
  too_many_indexes: 'a message has too many of them; finish with fewer, or send several messages',
  writer_ended: 'the answer is over; begin another one',
};

/** An update that is not taken. It changed nothing. */
export class UpdateError extends MillraceError<UpdateRefusal> {
  constructor(code: UpdateRefusal, what: string, place: ErrorPlace = {}, options?: ErrorOptions) {
    const where = Object.entries(place).map(([key, value]) => `${key} ${value}`);
    super(code, `Cannot ${what} (${where.join(', ')}): ${sayings[code]}`, place, options);
  }
}
