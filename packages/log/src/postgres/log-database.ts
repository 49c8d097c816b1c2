import { Database, type DatabaseOptions } from './database.ts';
import { migrations } from './schema.ts';
import { type Statements, statementsIn } from './statements.ts';

/** The tables of a log, and all that is said to them. */
export class LogDatabase extends Database {
  readonly statements: Statements;

  constructor(options: Omit<DatabaseOptions, 'migrations'>) {
    super({ ...options, migrations });
    this.statements = statementsIn(options.target.schema);
  }
}
