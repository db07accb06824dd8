export interface OrdersBase {
  dir: string
  objects: Map<string, unknown>
}
export function makeBase(dir: string): Promise<OrdersBase>
export function runOrder(
  base: OrdersBase,
  dir: string,
  seed: number,
  broken?: string,
): Promise<{ fenced: number; takeovers: number }>
