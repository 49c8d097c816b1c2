import { refuseJson } from '../codec/check-content.ts';
import type { JsonValue } from '../json/json-value.ts';
import { AnyPartWriter } from './any-part-writer.ts';
import type { ValueWriter } from './part-writer.ts';

export class ValuePartWriter<Kind extends ValueWriter['kind']>
  extends AnyPartWriter<Kind>
  implements ValueWriter
{
  #hasValue = false;

  set(value: JsonValue): void {
    this.assertOpen('set the value of a part');
    const refusal = value === undefined ? 'not_json' : refuseJson([value], this.limits);
    this.assert(refusal, 'set the value of a part');
    this.#hasValue = true;
    this.emit({ type: 'replace_structured', partId: this.partId, value });
  }

  protected override finish(): number {
    this.assert(this.#hasValue ? undefined : 'no_value', 'commit a part');
    return 0;
  }
}
