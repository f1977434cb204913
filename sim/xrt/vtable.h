// vtable.h : replaces virtual functions of another library's C++ object: gives it a copy of its
// vtable with new entries for given symbols, whatever their index or the object's layout.
#ifndef VTABLE_H
#define VTABLE_H
#include <string>
#include <vector>

class Vtable
{
  public:
    // Copies the table with this symbol from a library opened by dlopen(). Sets `missing` if the
    // symbol is not found.
    Vtable(void *library, const char *symbol);

    // Redirects calls of `symbol` to `function`. Returns the old function; nullptr, with `missing`
    // set, if the symbol is not found.
    void *replace(const char *symbol, void *function);
    void give_to(void *object) const;

    std::string missing;  // "", or the first symbol not found

  private:
    void *library;
    std::vector<void *> words;
};

#endif
