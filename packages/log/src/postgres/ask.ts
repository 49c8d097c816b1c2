/** Asks the database something and gives the rows. */
export type Ask = <Row>(sql: string, values: readonly unknown[]) => Promise<readonly Row[]>;
