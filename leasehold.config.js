// For `npx leasehold` in this repository: the database that `npm start` leaves.
export default { store: "sqlite:./examples/shop/data/shop.db" };
